import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addMailReads } from './reads.command.js';
import { addSettings } from './settings.command.js';
import { addMailStates } from './states.command.js';
import { addWrites } from './write.command.js';

export function addMail(program: Command, io: Io): void {
  const mail = program.command('mail').description('messages between agents and people');
  addWrites(mail, io);
  addMailReads(mail, io);
  addMailStates(mail, io);
  addSettings(mail, io);
}
