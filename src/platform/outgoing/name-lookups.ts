import { lookup as ask } from 'node:dns/promises';
import { Shares } from '../turns/shares.js';

export type Lookup = (host: string) => Promise<readonly string[]>;

const LOOKUP_MS = 5_000;
/** Threads of the process: of 32 it lends 16 to the system's resolver, and our own servers are looked up there, too. */
const LIMITS = { places: 8, perCity: 4 } as const;

/** Where the system's resolver leads. It cannot be ended: it goes on for as long as the name service takes. */
async function systemLookup(host: string): Promise<string[]> {
  const found = await ask(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Looks up names that others give, within a time limit. A lookup that is late still has its thread. So it counts until it is over, whoever
 * has given up meanwhile: a city whose names are never answered waits for its own lookups, and for no others'.
 */
export class NameLookups {
  readonly #shares = new Shares<string>(LIMITS);
  /** By name. */
  readonly #underWay = new Map<string, Promise<readonly string[]>>();
  /** First come, first served, but for those whose city has its share. */
  readonly #waiting: (() => boolean)[] = [];

  constructor(
    private readonly lookup: Lookup = systemLookup,
    private readonly limitMs = LOOKUP_MS,
  ) {}

  /** Who asks for a name that is being looked up gets the same answer. */
  async find(name: string, city: string): Promise<readonly string[]> {
    let giveUp: () => void = () => undefined;
    try {
      return await new Promise<readonly string[]>((resolve, reject) => {
        const tryNow = (): boolean => {
          const job = this.#underWay.get(name) ?? (this.#shares.admits(city) ? this.#begin(name, city) : undefined);
          job?.then(resolve, reject);
          return job !== undefined;
        };
        const timer = setTimeout(() => reject(new Error('the name service does not answer')), this.limitMs);
        giveUp = () => {
          clearTimeout(timer);
          const place = this.#waiting.indexOf(tryNow);
          if (place >= 0) this.#waiting.splice(place, 1);
        };
        if (!tryNow()) this.#waiting.push(tryNow);
      });
    } finally {
      giveUp();
    }
  }

  #begin(name: string, city: string): Promise<readonly string[]> {
    const giveBack = this.#shares.take(city);
    const job = this.lookup(name).finally(() => {
      this.#underWay.delete(name);
      giveBack();
      const waiting = this.#waiting.splice(0);
      this.#waiting.push(...waiting.filter((tryNow) => !tryNow()));
    });
    this.#underWay.set(name, job);
    return job;
  }
}

/** Of this process: all of it shares the threads. */
export const nameLookups = new NameLookups();
