import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addReads } from './reads.command.js';
import { addRemove } from './remove.command.js';
import { addSet } from './set.command.js';

export function addPatch(program: Command, io: Io): void {
  const patch = program.command('patch').description('what the files of a city change of agents, rigs and providers from elsewhere');
  addReads(patch, io);
  addSet(patch, io);
  addRemove(patch, io);
}
