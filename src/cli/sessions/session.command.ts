import type { Command } from 'commander';
import { addAttach } from '../attach/attach.command.js';
import type { Io } from '../io.js';
import { addCreate } from './create.command.js';
import { addDrift } from './drift.command.js';
import { addLifecycle } from './lifecycle.command.js';
import { addMessages } from './messages.command.js';
import { addReads } from './reads.command.js';
import { addRespond } from './respond.command.js';
import { addSend } from './send.command.js';
import { addWatch } from './watch.command.js';

export function addSession(program: Command, io: Io): void {
  const session = program
    .command('session')
    .description('sessions of agents: make, read and follow them, talk to them, stop and close them');
  addCreate(session, io);
  addReads(session, io);
  addAttach(session, io);
  addSend(session, io);
  addWatch(session, io);
  addRespond(session, io);
  addMessages(session, io);
  addLifecycle(session, io);
  addDrift(session, io);
}
