import { doubled } from '../../../platform/time/doubled.js';
import type { SessionRest } from '../../../contract/sessions.schemas.js';

/** Runs of a pool's members for work of which they took none, since the last one that took some. */
export interface EmptyRuns {
  /** In a row. */
  readonly count: number;
  readonly lastAt: number;
}

/** After a run that was empty nobody is started for the same work for so long, doubled with each more in a row, up to the other. */
const PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 600_000;

export function emptyPauseUntil({ count, lastAt }: EmptyRuns): number {
  return lastAt + doubled(count, PAUSE_MS, MAX_PAUSE_MS);
}

/** The pause of a pool as people see it; undefined when it is over. */
export function restAfterEmptyRuns(runs: EmptyRuns, now: number): SessionRest | undefined {
  const until = emptyPauseUntil(runs);
  if (until <= now) return undefined;
  const which = runs.count === 1 ? 'its last run' : `its last ${runs.count} runs`;
  const detail = `${which} took none of the work that was there`;
  return { reason: 'empty-runs', ended_by: ['time', 'work'], until: new Date(until).toISOString(), detail };
}
