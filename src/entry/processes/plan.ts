import type { Role } from '../../platform/config/config.js';
import { DEFAULT_POOL_SIZE } from '../../platform/database/shared-pool.js';

export interface Part {
  readonly name: string;
  readonly role: Exclude<Role, 'all'>;
}

/** The processes of a start. Only one of them works: what is per host (runners, watches of files) stays one. */
export function partsOf(answering: number, role: Role): readonly Part[] {
  const apis = Array.from({ length: answering }, (_, i): Part => ({ name: `api-${i + 1}`, role: 'api' }));
  return role === 'all' ? [...apis, { name: 'worker', role: 'worker' }] : apis;
}

/** Connections that a process has beside its pool: one that listens, two that queue jobs, and of a worker four that fetch them, and their LISTEN. */
const BESIDE_POOL = { api: 3, worker: 8 } as const;
/** The database keeps three for its owner; migrations, backups and whoever looks have some as well. */
const OTHERS = 12;
const LEAST_POOL = 8;
/** Of an embedded server unless more processes need more. */
const CONNECTIONS = 100;

/** What each process has of an embedded server's connections, and how many that server has to take. */
export function connectionsFor(parts: readonly Part[]): { readonly poolSize: number; readonly connections: number } {
  const beside = parts.reduce((sum, { role }) => sum + BESIDE_POOL[role], OTHERS);
  const share = Math.floor((CONNECTIONS - beside) / parts.length);
  const poolSize = Math.max(LEAST_POOL, Math.min(DEFAULT_POOL_SIZE, share));
  return { poolSize, connections: Math.max(CONNECTIONS, beside + poolSize * parts.length) };
}
