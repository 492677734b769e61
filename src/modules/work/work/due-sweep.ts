import type { AppLogger } from '../../../platform/logging/logger.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from './work.js';
import type { WorkService } from './work.service.js';

const BATCH = 100;
/** After this a look leaves the rest to the next one: what follows from one bead may be much, and the city's other writers wait. */
const LONGEST_MS = 500;

/** So many that fail, one after the other, end the turn of their city: most likely all do. */
const FAILURES = 3;
/** So long one that has failed stands back, in all turns: those behind it are looked at. Twice as long each time, or a hundred that fail would come in turn for ever. */
const BACK_MS = 30_000;
const BACK_AT_MOST_MS = 3_600_000;

/** Of one city: those that have stood back the longest are tried again before there are more. */
const BACK_AT_MOST = 1_000;

/** Beads that have failed, by their cities, and are left out for a while. */
export class StoodBack {
  readonly #cities = new Map<number, Map<string, { readonly until: number; readonly ms: number }>>();

  /** How many there are of the city that has most. */
  get most(): number {
    let most = 0;
    for (const { size } of this.#cities.values()) most = Math.max(most, size);
    return most;
  }

  has(streamId: number, id: string): boolean {
    return (this.#cities.get(streamId)?.get(id)?.until ?? 0) > performance.now();
  }

  add(streamId: number, id: string): void {
    const beads = this.#cities.get(streamId) ?? new Map<string, { until: number; ms: number }>();
    this.#cities.set(streamId, beads);
    const ms = Math.min(2 * (beads.get(id)?.ms ?? BACK_MS / 2), BACK_AT_MOST_MS);
    beads.delete(id);
    beads.set(id, { until: performance.now() + ms, ms });
    if (beads.size > BACK_AT_MOST) beads.delete(beads.keys().next().value!);
  }

  /** Forgets those that have not failed again for as long as they stood back. */
  forget(): void {
    for (const [streamId, beads] of this.#cities) {
      for (const [id, { until, ms }] of beads) if (until + ms <= performance.now()) beads.delete(id);
      if (beads.size === 0) this.#cities.delete(streamId);
    }
  }
}

/** Beads whose time has come, and what is done about them. */
export interface DueSource {
  /** As logs name it. */
  readonly name: string;
  /** Of all turns of this process. */
  readonly back: StoodBack;
  /** The running city with the bead that has been due the longest, and up to `limit` of its due ones. `except` are streams to pass over. */
  nextDue(except: readonly number[], limit: number): Promise<{ readonly city: CityScope; readonly ids: readonly string[] } | undefined>;
  /** Looks at them again, under the city's lock, at one at least and at no more once it is late. Answers how many were decided. */
  look(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number>;
}

/** How a turn goes in a city. */
interface Turn {
  /** What was looked at last: what stays due although it was looked at is not looked at for ever. */
  last: string;
  /** How many are still looked at one at a time: one of so many has failed, and nothing of that look stands. */
  alone: number;
  /** How many have failed since something was looked at. */
  failures: number;
  /** Those that were looked at alone. */
  readonly seen: Set<string>;
}

/**
 * Looks at whatever is due, city by city; neither a city nor a bead that fails holds up the others for long. Any number of workers may. Returns how many were
 * decided.
 */
export async function sweepDue(source: DueSource, work: WorkService, log: AppLogger, signal?: AbortSignal): Promise<number> {
  const { back } = source;
  back.forget();
  /** Those that are not looked at again. */
  const done: number[] = [];
  /** Cities that had a look: whatever is left there, or comes meanwhile, has its look after each other city had one. */
  let later: number[] = [];
  const turns = new Map<number, Turn>();
  /** How many were looked at alone in the city that had most of these. */
  let seen = 0;
  let decided = 0;
  while (signal?.aborted !== true) {
    const due = await source.nextDue([...done, ...later], BATCH + back.most + seen);
    if (due === undefined) {
      if (later.length === 0) break;
      later = [];
      continue;
    }
    const { streamId, name } = due.city;
    const turn = turns.get(streamId) ?? { last: '', alone: 0, failures: 0, seen: new Set() };
    turns.set(streamId, turn);
    const left = due.ids.filter((id) => !turn.seen.has(id) && !back.has(streamId, id));
    const ids = left.slice(0, turn.alone > 0 ? 1 : BATCH);
    const these = ids.join();
    (these === '' || turn.last === these ? done : later).push(streamId);
    turn.last = these;
    if (these === '') continue;
    let begun = false;
    try {
      const { value } = await work.run(due.city, 'reconciler', (w) => {
        begun = true;
        const since = performance.now();
        return source.look(w, ids, () => performance.now() - since > LONGEST_MS);
      });
      decided += value;
      turn.failures = 0;
      if (turn.alone === 0) continue;
      turn.alone--;
      turn.seen.add(ids[0]!);
      seen = Math.max(seen, turn.seen.size);
    } catch (error) {
      if (begun && ids.length > 1) {
        turn.alone = ids.length;
        continue;
      }
      if (begun) {
        turn.alone = 0;
        turn.failures++;
        back.add(streamId, ids[0]!);
      }
      if (!begun || turn.failures === FAILURES) done.push(streamId);
      log.warn({ err: error, city: name, ids }, `${source.name} could not be looked at; a later turn tries again`);
    }
  }
  return decided;
}
