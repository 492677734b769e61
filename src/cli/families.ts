import type { Command } from 'commander';
import type { Io } from './io.js';

type Add = (program: Command, io: Io) => void;

/** The families of commands by their names, each loaded when it is called. `program.ts` has all of them, in the order of the help. */
export const FAMILIES: Readonly<Record<string, () => Promise<Add>>> = {
  init: async () => (await import('./init/init.command.js')).addInit,
  city: async () => (await import('./cities/city.command.js')).addCity,
  events: async () => (await import('./events/events.command.js')).addEvents,
  event: async () => (await import('./events/emit.command.js')).addEvent,
  session: async () => (await import('./sessions/session.command.js')).addSession,
  bead: async () => (await import('./beads/bead.command.js')).addBead,
  sling: async () => (await import('./sling/sling.command.js')).addSling,
  batch: async () => (await import('./sling/batch.command.js')).addBatch,
  convoy: async () => (await import('./convoys/convoy.command.js')).addConvoy,
  mail: async () => (await import('./mail/mail.command.js')).addMail,
  hook: async () => (await import('./hooks/hook.command.js')).addHook,
  wait: async () => (await import('./waits/wait.command.js')).addWait,
  config: async () => (await import('./config/config.command.js')).addConfig,
  agent: async () => (await import('./agents/agent.command.js')).addAgent,
  provider: async () => (await import('./providers/provider.command.js')).addProvider,
  rig: async () => (await import('./rigs/rig.command.js')).addRig,
  pack: async () => (await import('./packs/pack.command.js')).addPack,
  patch: async () => (await import('./patches/patch.command.js')).addPatch,
  formula: async () => (await import('./formulas/formula.command.js')).addFormula,
  molecule: async () => (await import('./molecules/molecule.command.js')).addMolecule,
  run: async () => (await import('./runs/run.command.js')).addRun,
  order: async () => (await import('./orders/order.command.js')).addOrder,
  extmsg: async () => (await import('./extmsg/extmsg.command.js')).addExtmsg,
  service: async () => (await import('./services/service.command.js')).addService,
  attach: async () => (await import('./attach/attach.command.js')).addAttach,
  logs: async () => {
    const { addOutput } = await import('./agents/output.command.js');
    return (program, io) => addOutput(program, io, 'logs');
  },
  usage: async () => (await import('./sessions/usage.command.js')).addUsage,
  top: async () => (await import('./top.command.js')).addTop,
  overview: async () => (await import('./cities/overview.command.js')).addOverview,
  inbox: async () => (await import('./inbox.command.js')).addInbox,
  search: async () => (await import('./search.command.js')).addSearch,
  why: async () => (await import('./why/why.command.js')).addWhy,
  maintenance: async () => (await import('./maintenance/maintenance.command.js')).addMaintenance,
  runner: async () => (await import('./sessions/runner.command.js')).addRunner,
  key: async () => (await import('./keys.command.js')).addKey,
  audit: async () => (await import('./audit/audit.command.js')).addAudit,
  context: async () => (await import('./contexts/context.command.js')).addContext,
  health: async () => (await import('./health.command.js')).addHealth,
  doctor: async () => (await import('./doctor/doctor.command.js')).addDoctor,
  backup: async () => (await import('./backup.command.js')).addBackup,
  restore: async () => (await import('./backup.command.js')).addRestore,
  serve: async () => (await import('./serve.command.js')).addServe,
  names: async () => (await import('./names.command.js')).addNames,
};
