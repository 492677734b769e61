import { availableParallelism } from 'node:os';
import type { AppConfig } from './config.js';

/**
 * With `auto`. For each core of processes that answer their database had 0.2 (`GET` of a city) to 1.3 (of a bead, `POST` of an event); on two
 * cores two processes reached 0.6 to 0.9 of what one did.
 */
const CORES_EACH = 2;
const MOST_OF_ITSELF = 8;

/** How many processes answer at the port of this start; 1: this one does everything itself. */
export function processesOf({ processes, role }: Pick<AppConfig, 'processes' | 'role'>, cores = availableParallelism()): number {
  if (role === 'worker') return 1;
  return processes === 'auto' ? Math.min(Math.max(1, Math.floor(cores / CORES_EACH)), MOST_OF_ITSELF) : processes;
}
