import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addClaims } from './claims.command.js';
import { addCreate } from './create.command.js';
import { addDependencies } from './dependencies.command.js';
import { addLabels } from './labels.command.js';
import { addLists } from './list.command.js';
import { addShow } from './show.command.js';
import { addStates } from './states.command.js';
import { addUpdate } from './update.command.js';

export function addBead(program: Command, io: Io): void {
  const bead = program.command('bead').description('units of work: list, make, change, claim and link them');
  addLists(bead, io);
  addShow(bead, io);
  addCreate(bead, io);
  addUpdate(bead, io);
  addStates(bead, io);
  addClaims(bead, io);
  addLabels(bead, io);
  addDependencies(bead, io);
}
