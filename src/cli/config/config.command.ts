import type { Command } from 'commander';
import type { Io } from '../io.js';
import { addChecks } from './checks.command.js';
import { addExplain } from './explain.command.js';
import { addHistory } from './history.command.js';
import { addSet } from './set.command.js';
import { addShow } from './show.command.js';

export function addConfig(program: Command, io: Io): void {
  const config = program.command('config').description('what a city is composed of, where it was written, and what changed');
  addShow(config, io);
  addSet(config, io);
  addExplain(config, io);
  addChecks(config, io);
  addHistory(config, io);
}
