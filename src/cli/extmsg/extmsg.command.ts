import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addAdapters } from './adapter.command.js';
import { addBindings } from './bindings.command.js';
import { addConnect } from './connect.command.js';
import { addDeliveries } from './deliveries.command.js';
import { addGroups } from './groups.command.js';
import { addMessages } from './messages.command.js';
import { addTranscript } from './transcript.command.js';

export function addExtmsg(program: Command, io: Io): void {
  const extmsg = program.command('extmsg').description('conversations elsewhere: who answers in them, and what speaks for an account');
  addAdapters(extmsg, io);
  addBindings(extmsg, io);
  addGroups(extmsg, io);
  addTranscript(extmsg, io);
  addMessages(extmsg, io);
  addConnect(extmsg, io);
  addDeliveries(extmsg, io);
}
