import { lookup as ask } from 'node:dns/promises';
import { RecentNames } from '../collections/recent-names.js';
import { Shares } from '../turns/shares.js';

export type Lookup = (host: string) => Promise<readonly string[]>;

const LOOKUP_MS = 5_000;
/** Threads of the process: of 32 it lends 16 to the system's resolver, and our own servers are looked up there, too. */
const LIMITS = { places: 8, perCity: 4 } as const;
/** Beside these, for names that were answered: names that never are leave them free. */
const KEPT = { places: 4, perCity: 2 } as const;
const ANSWERED = { ms: 3_600_000, names: 1_000 } as const;
/** A name without an answer, and who has asked for one. */
const UNANSWERED = { ms: 30_000, names: 1_000 } as const;

interface Waiting {
  readonly city: string;
  /** Whether it has been begun. */
  readonly tryNow: () => boolean;
}

/** Where the system's resolver leads. It cannot be ended: it goes on for as long as the name service takes. */
async function systemLookup(host: string): Promise<string[]> {
  const found = await ask(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Looks up names that others give, within a time limit. A lookup that is late still has its thread. So it counts until it is over, whoever
 * has given up meanwhile: a city whose names are never answered waits for its own lookups, and for no others'. What it has asked for
 * before with success it goes on finding.
 */
export class NameLookups {
  readonly #places = new Shares<string>(LIMITS);
  readonly #kept = new Shares<string>(KEPT);
  readonly #answered: RecentNames;
  /** Names of which a lookup was late, and failed. */
  readonly #unanswered: RecentNames;
  /** Cities of which a lookup was late. */
  readonly #slow: RecentNames;
  /** By name. */
  readonly #underWay = new Map<string, Promise<readonly string[]>>();
  /** First come, first served, but for those whose city has its share; before them come those of cities that were not slow lately. */
  readonly #waiting: Waiting[] = [];

  constructor(
    private readonly lookup: Lookup = systemLookup,
    private readonly limitMs = LOOKUP_MS,
    now?: () => number,
  ) {
    this.#answered = new RecentNames(ANSWERED, now);
    this.#unanswered = new RecentNames(UNANSWERED, now);
    this.#slow = new RecentNames(UNANSWERED, now);
  }

  /** Who asks for a name that is being looked up gets the same answer. */
  async find(name: string, city: string): Promise<readonly string[]> {
    let giveUp: () => void = () => undefined;
    try {
      return await new Promise<readonly string[]>((resolve, reject) => {
        const tryNow = (): boolean => {
          const job = this.#underWay.get(name) ?? this.#begin(name, city);
          job?.then(resolve, reject);
          return job !== undefined;
        };
        const timer = setTimeout(() => reject(silence()), this.limitMs);
        const waiting = { city, tryNow };
        giveUp = () => {
          clearTimeout(timer);
          const place = this.#waiting.indexOf(waiting);
          if (place >= 0) this.#waiting.splice(place, 1);
        };
        if (!tryNow()) this.#waiting.push(waiting);
      });
    } finally {
      giveUp();
    }
  }

  /** Nothing where there is no place for it now. */
  #begin(name: string, city: string): Promise<readonly string[]> | undefined {
    if (this.#unanswered.has(name)) return Promise.reject(silence());
    const places = this.#answered.has(name) ? [this.#places, this.#kept] : [this.#places];
    const giveBack = places.find((each) => each.admits(city))?.take(city);
    if (giveBack === undefined) return undefined;
    const job = this.#ask(name, city).finally(() => {
      this.#underWay.delete(name);
      giveBack();
      this.#serve();
    });
    this.#underWay.set(name, job);
    return job;
  }

  /** Remembers what comes of it. */
  async #ask(name: string, city: string): Promise<readonly string[]> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#answered.delete(name);
      this.#slow.add(city);
    }, this.limitMs);
    try {
      const found = await this.lookup(name);
      if (!late) this.#answered.add(name);
      return found;
    } catch (error) {
      if (late) this.#unanswered.add(name);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #serve(): void {
    const waiting = this.#waiting.splice(0);
    const inTurn = [false, true].flatMap((slow) => waiting.filter(({ city }) => this.#slow.has(city) === slow));
    this.#waiting.push(...inTurn.filter(({ tryNow }) => !tryNow()));
  }
}

function silence(): Error {
  return new Error('the name service does not answer');
}

/** Of this process: all of it shares the threads. */
export const nameLookups = new NameLookups();
