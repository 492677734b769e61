import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addReads } from './reads.command.js';
import { addWrites } from './write.command.js';

export function addProvider(program: Command, io: Io): void {
  const provider = program.command('provider').description('providers of agents: list, define and change them');
  addReads(provider, io);
  addWrites(provider, io);
}
