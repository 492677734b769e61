import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addMoves } from './moves.command.js';
import { addReads } from './reads.command.js';

export function addOrder(program: Command, io: Io): void {
  const order = program.command('order').description('what a city does again and again: by the clock, when something happens, or by hand');
  addReads(order, io);
  addMoves(order, io);
}
