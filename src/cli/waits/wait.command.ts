import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addReads } from './reads.command.js';
import { addMoves } from './moves.command.js';
import { addCreate } from './create.command.js';

export function addWait(program: Command, io: Io): void {
  const wait = program.command('wait').description('sessions that are parked until beads are closed');
  addCreate(wait, io);
  addReads(wait, io);
  addMoves(wait, io);
}
