import type { AppLogger } from '../../../platform/logging/logger.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from './work.js';
import type { WorkService } from './work.service.js';

const BATCH = 100;
/** After this a look leaves the rest to the next one: what follows from one bead may be much, and the city's other writers wait. */
const LONGEST_MS = 500;

/** Beads whose time has come, and what is done about them. */
export interface DueSource {
  /** As logs name it. */
  readonly name: string;
  /** The running city with the bead that has been due the longest, and up to `limit` of its due ones. `except` are streams to pass over. */
  nextDue(except: readonly number[], limit: number): Promise<{ readonly city: CityScope; readonly ids: readonly string[] } | undefined>;
  /** Looks at them again, under the city's lock, at one at least and at no more once it is late. Answers how many were decided. */
  look(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number>;
}

/**
 * Looks at whatever is due, city by city; neither a city nor a bead that fails holds up the others. Any number of workers may. Returns how many were decided.
 */
export async function sweepDue(source: DueSource, work: WorkService, log: AppLogger, signal?: AbortSignal): Promise<number> {
  /** Those that are not looked at again. */
  const done: number[] = [];
  /** Cities that had a look: whatever is left there, or comes meanwhile, has its look after each other city had one. */
  let later: number[] = [];
  /** What was looked at last, by city: what stays due although it was looked at is not looked at for ever. */
  const last = new Map<number, string>();
  /** Cities in which one of several has failed, and nothing of the look stands: one at a time is looked at, until it is found. */
  const alone = new Set<number>();
  /** Those that are left out. */
  const failed = new Map<number, Set<string>>();
  let decided = 0;
  while (signal?.aborted !== true) {
    const due = await source.nextDue([...done, ...later], BATCH);
    if (due === undefined) {
      if (later.length === 0) break;
      later = [];
      continue;
    }
    const { streamId, name } = due.city;
    const left = due.ids.filter((id) => failed.get(streamId)?.has(id) !== true);
    const ids = alone.has(streamId) ? left.slice(0, 1) : left;
    const these = ids.join();
    (these === '' || last.get(streamId) === these ? done : later).push(streamId);
    last.set(streamId, these);
    if (these === '') continue;
    let begun = false;
    try {
      const { value } = await work.run(due.city, 'reconciler', (w) => {
        begun = true;
        const since = performance.now();
        return source.look(w, ids, () => performance.now() - since > LONGEST_MS);
      });
      decided += value;
    } catch (error) {
      if (!begun) done.push(streamId);
      else if (ids.length > 1) {
        alone.add(streamId);
        continue;
      } else {
        alone.delete(streamId);
        failed.set(streamId, (failed.get(streamId) ?? new Set()).add(ids[0]!));
      }
      log.warn({ err: error, city: name, ids }, `${source.name} could not be looked at; the next turn tries again`);
    }
  }
  return decided;
}
