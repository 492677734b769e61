import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addOutput } from './output.command.js';
import { addReads } from './reads.command.js';
import { addSwitches } from './switches.command.js';
import { addWrites } from './write.command.js';

export function addAgent(program: Command, io: Io): void {
  const agent = program.command('agent').description('agents of a city: list, read, make, change, suspend and resume them');
  addReads(agent, io);
  addOutput(agent, io);
  addWrites(agent, io);
  addSwitches(agent, io);
}
