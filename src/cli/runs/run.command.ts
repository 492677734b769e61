import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addEndings } from './endings.command.js';
import { addReads } from './reads.command.js';
import { addWatch } from './watch.command.js';

export function addRun(program: Command, io: Io): void {
  const run = program.command('run').description('formulas that are being carried out: how far they are, and their end');
  addReads(run, io);
  addWatch(run, io);
  addEndings(run, io);
}
