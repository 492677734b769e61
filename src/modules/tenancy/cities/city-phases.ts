import { doubled } from '../../../platform/time/doubled.js';

/** What an initialization tells, in this order: it is written where something is done that may take long, as each is a commit. */
export type Phase = 'loading_config' | 'starting_bead_store' | 'starting_agents';

/** What a client may count; composing the files does what lies between those that are told. */
const CANONICAL: readonly string[] = [
  'loading_config',
  'starting_bead_store',
  'resolving_formulas',
  'adopting_sessions',
  'starting_agents',
];

/** The canonical phases before `phase`; undefined when there is nothing to say. */
export function phasesCompleted(phase: string): string[] | undefined {
  const at = CANONICAL.indexOf(phase);
  return at > 0 ? CANONICAL.slice(0, at) : undefined;
}

const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 300_000;

/** The pause after the `failures`-th failed initialization in a row: 10 s, doubling, at most 5 min. */
export function retryDelayMs(failures: number): number {
  return doubled(failures, FIRST_RETRY_MS, LAST_RETRY_MS);
}
