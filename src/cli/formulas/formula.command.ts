import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addEdits } from './edits.command.js';
import { addReads } from './reads.command.js';
import { addValidate } from './validate.command.js';

export function addFormula(program: Command, io: Io): void {
  const formula = program.command('formula').description('formulas: what a city has, what they become, and the files of its own');
  addReads(formula, io);
  addValidate(formula, io);
  addEdits(formula, io);
}
