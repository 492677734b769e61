import { Argument, type Command } from 'commander';
import { addAgent } from './agents/agent.command.js';
import { addOutput } from './agents/output.command.js';
import { addAttach } from './attach/attach.command.js';
import { addAudit } from './audit/audit.command.js';
import { addBackup, addRestore } from './backup.command.js';
import { addBead } from './beads/bead.command.js';
import { addCity } from './cities/city.command.js';
import { addOverview } from './cities/overview.command.js';
import { withExamples } from './command.js';
import { completionScript, SHELLS, type Shell } from './completion.js';
import { addConfig } from './config/config.command.js';
import { addConvoy } from './convoys/convoy.command.js';
import { addContext } from './contexts/context.command.js';
import { addDoctor } from './doctor/doctor.command.js';
import { addEvent } from './events/emit.command.js';
import { addEvents } from './events/events.command.js';
import { addExtmsg } from './extmsg/extmsg.command.js';
import { addNames } from './names.command.js';
import { addOrder } from './orders/order.command.js';
import { addFormula } from './formulas/formula.command.js';
import { addHealth } from './health.command.js';
import { addHook } from './hooks/hook.command.js';
import { addInbox } from './inbox.command.js';
import { addInit } from './init/init.command.js';
import type { Io } from './io.js';
import { addKey } from './keys.command.js';
import { addMail } from './mail/mail.command.js';
import { addMaintenance } from './maintenance/maintenance.command.js';
import { addMolecule } from './molecules/molecule.command.js';
import { addPack } from './packs/pack.command.js';
import { addPatch } from './patches/patch.command.js';
import { addProvider } from './providers/provider.command.js';
import { addRig } from './rigs/rig.command.js';
import { finish, rootOf } from './root.js';
import { addRun } from './runs/run.command.js';
import { addServe } from './serve.command.js';
import { addUi } from './ui.command.js';
import { addSearch } from './search.command.js';
import { addRunner } from './sessions/runner.command.js';
import { addSession } from './sessions/session.command.js';
import { addUsage } from './sessions/usage.command.js';
import { addService } from './services/service.command.js';
import { addBatch } from './sling/batch.command.js';
import { addSling } from './sling/sling.command.js';
import { addTop } from './top.command.js';
import { addWhy } from './why/why.command.js';
import { addWait } from './waits/wait.command.js';

/** The tree of all commands. */
export function buildProgram(io: Io): Command {
  const program = rootOf(io);
  addInit(program, io);
  addCity(program, io);
  addEvents(program, io);
  addEvent(program, io);
  addSession(program, io);
  addBead(program, io);
  addSling(program, io);
  addBatch(program, io);
  addConvoy(program, io);
  addMail(program, io);
  addHook(program, io);
  addWait(program, io);
  addConfig(program, io);
  addAgent(program, io);
  addProvider(program, io);
  addRig(program, io);
  addPack(program, io);
  addPatch(program, io);
  addFormula(program, io);
  addMolecule(program, io);
  addRun(program, io);
  addOrder(program, io);
  addExtmsg(program, io);
  addService(program, io);
  addAttach(program, io);
  addOutput(program, io, 'logs');
  addUsage(program, io);
  addTop(program, io);
  addOverview(program, io);
  addInbox(program, io);
  addSearch(program, io);
  addWhy(program, io);
  addMaintenance(program, io);
  addRunner(program, io);
  addKey(program, io);
  addAudit(program, io);
  addContext(program, io);
  addHealth(program, io);
  addDoctor(program, io);
  addBackup(program, io);
  addRestore(program, io);
  addServe(program, io);
  addUi(program, io);
  addCompletion(program, io);
  addNames(program, io);
  return finish(program, io);
}

function addCompletion(program: Command, io: Io): void {
  const completion = program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS));
  withExamples(completion, 'eval "$(svc completion bash)"', 'svc completion fish > ~/.config/fish/completions/svc.fish');
  completion.action((shell: Shell) => io.out(completionScript(shell, program)));
}
