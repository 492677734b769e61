import { Runner } from '../runners.schemas.js';
import { defineEvent } from './define.js';

export const RunnerRegistered = defineEvent('runner.registered', 1, Runner, 'A worker process has begun to run agents.');
export const RunnerDraining = defineEvent('runner.draining', 1, Runner, 'A runner takes no more sessions: its process is to stop.');
export const RunnerStopped = defineEvent('runner.stopped', 1, Runner, 'A runner has stopped in good order.');
export const RunnerLost = defineEvent(
  'runner.lost',
  1,
  Runner,
  'A runner has not been heard of for longer than its lease: its sessions go on elsewhere.',
);
