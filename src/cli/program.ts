import { Argument, Command, CommanderError } from 'commander';
import { VERSION } from '../contract/version.js';
import { addAgent } from './agents/agent.command.js';
import { addOutput } from './agents/output.command.js';
import { addAudit } from './audit/audit.command.js';
import { addBead } from './beads/bead.command.js';
import { addCity } from './cities/city.command.js';
import { pathOf, withCity, withExamples, withTarget } from './command.js';
import { completionScript, SHELLS, type Shell } from './completion.js';
import { addConfig } from './config/config.command.js';
import { addConvoy } from './convoys/convoy.command.js';
import { addContext } from './contexts/context.command.js';
import { withMeaning } from './elsewhere.js';
import { oneLine } from './errors.js';
import { EXIT_HELP, exitCodeOf } from './exit-codes.js';
import { addFormats, addShorts, Output } from './output.js';
import { addDoctor } from './doctor/doctor.command.js';
import { addEvent } from './events/emit.command.js';
import { addEvents } from './events/events.command.js';
import { addExtmsg } from './extmsg/extmsg.command.js';
import { addNames } from './names.command.js';
import { addOrder } from './orders/order.command.js';
import { addFormula } from './formulas/formula.command.js';
import { addHealth } from './health.command.js';
import { addHook } from './hooks/hook.command.js';
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
import { addRun } from './runs/run.command.js';
import { addServe } from './serve.command.js';
import { addRunner } from './sessions/runner.command.js';
import { addSession } from './sessions/session.command.js';
import { addUsage } from './sessions/usage.command.js';
import { addService } from './services/service.command.js';
import { addSling } from './sling/sling.command.js';
import { plain } from './table.js';
import { addTop } from './top.command.js';
import { addWhy } from './why/why.command.js';
import { addWait } from './waits/wait.command.js';

/** The tree of commands. */
export function buildProgram(io: Io): Command {
  const program = new Command('svc')
    .description('Client of the supervisor: cities of coding agents, their events and operations.')
    .version(VERSION, '--version', 'print the version')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride();
  withCity(withTarget(program));
  program.configureOutput({ writeOut: (text) => void io.out(text), writeErr: (text) => io.err(text) });
  withExamples(
    program,
    'svc serve',
    'svc city create alpha --provider loopback',
    'svc session create mayor --message "What is left to do?" --wait --city alpha',
    'svc bead create "Fix the login page" --city alpha',
    'svc config explain workspace --city alpha',
    'svc events --city alpha --follow',
    'eval "$(svc completion bash)"',
  );
  addInit(program, io);
  addCity(program, io);
  addEvents(program, io);
  addEvent(program, io);
  addSession(program, io);
  addBead(program, io);
  addSling(program, io);
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
  addOutput(program, io, 'logs');
  addUsage(program, io);
  addTop(program, io);
  addWhy(program, io);
  addMaintenance(program, io);
  addRunner(program, io);
  addKey(program, io);
  addAudit(program, io);
  addContext(program, io);
  addHealth(program, io);
  addDoctor(program, io);
  addServe(program, io);
  addCompletion(program, io);
  addNames(program, io);
  addFormats(program);
  addShorts(program);
  program.addHelpText('after', EXIT_HELP);
  prefixErrors(program, io);
  return program;
}

function addCompletion(program: Command, io: Io): void {
  const completion = program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS));
  withExamples(completion, 'eval "$(svc completion bash)"', 'svc completion fish > ~/.config/fish/completions/svc.fish');
  completion.action((shell: Shell) => io.out(completionScript(shell, program)));
}

/** What is wrong with the command line is told like every other failure: one line that names the command. */
function prefixErrors(command: Command, io: Io): void {
  const path = pathOf(command);
  command.configureOutput({ outputError: (text) => io.err(`${path}: ${withMeaning(path, oneLine(text.replace(/^error: /, '')))}\n`) });
  for (const sub of command.commands) prefixErrors(sub, io);
}

/** Runs one command line (without `node` and the script) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], around: Io): Promise<number> {
  const io = new Output(around);
  const program = buildProgram(io);
  let running = program;
  program.hook('preAction', (_program, action) => {
    running = action;
    io.begin(action);
  });
  const tell = (error: unknown): number => {
    if (!(error instanceof CommanderError)) {
      const message = plain(oneLine((error as { message?: string } | null)?.message ?? String(error)));
      if (message !== '') io.err(`${pathOf(running)}: ${message}\n`);
    }
    return exitCodeOf(error, io.asked);
  };
  let code = 0;
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    code = tell(error);
  }
  await io.end(code !== 0).catch((error: unknown) => {
    code = code === 0 ? tell(error) : code;
  });
  return code;
}
