import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addMembers } from './members.command.js';
import { addReads } from './reads.command.js';
import { addWatch } from './watch.command.js';
import { addEndings } from './endings.command.js';

export function addConvoy(program: Command, io: Io): void {
  const convoy = program.command('convoy').description('groups of beads that are followed to their end');
  addMembers(convoy, io);
  addReads(convoy, io);
  addWatch(convoy, io);
  addEndings(convoy, io);
}
