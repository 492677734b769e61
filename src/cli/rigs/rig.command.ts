import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addChanges } from './changes.command.js';
import { addCreate } from './create.command.js';
import { addReads } from './reads.command.js';
import { addSwitches } from './switches.command.js';

export function addRig(program: Command, io: Io): void {
  const rig = program.command('rig').description('rigs of a city, where its agents work: list, add, change, suspend and resume them');
  addReads(rig, io);
  addCreate(rig, io);
  addChanges(rig, io);
  addSwitches(rig, io);
}
