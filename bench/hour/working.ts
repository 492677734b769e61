import type { Client } from '../../src/client/index.js';
import { sleep } from '../lib/machine.js';
import type { Following } from './following.js';
import { options } from './options.js';

/** Work comes in heaps of so many, one city at a time … */
const HEAP = 5;
/** … and now and then in all cities at once, so that every pool is as large as it may be. */
const TIDE_MS = 240_000;
/** At once, so that the first ones still work when the last ones begin. */
const MAKERS = 8;

/** Somebody who makes beads and slings them to the pools. */
export class Working {
  /** City and id. */
  readonly made = new Map<string, string>();
  /** How often each was told to be closed, by city and id. */
  readonly closed = new Map<string, number>();
  readonly failed: string[] = [];
  readonly #loops: Promise<void>[] = [];
  #stopped = false;
  #serial = 0;

  constructor(
    private readonly clients: readonly Client[],
    private readonly cities: readonly string[],
    following: Following,
  ) {
    following.told.on('event', ({ city, type, subject }) => {
      if (type !== 'bead.closed') return;
      const key = `${city}/${subject}`;
      this.closed.set(key, (this.closed.get(key) ?? 0) + 1);
    });
  }

  start(): void {
    this.#loops.push(this.#heaps(), this.#tides());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  /** So many for the pool of a city. */
  async heap(city: string, beads: number): Promise<void> {
    for (let n = 0; n < beads; n++) await this.#one(city).catch((error: unknown) => this.failed.push(String(error)));
  }

  async #heaps(): Promise<void> {
    while (!this.#stopped) {
      const began = performance.now();
      await this.heap(this.cities[Math.floor(Math.random() * this.cities.length)]!, HEAP);
      await this.#rest((HEAP * 1000) / options.beads - (performance.now() - began));
    }
  }

  async #tides(): Promise<void> {
    while (!this.#stopped) {
      const left = [...this.cities];
      const one = async (): Promise<void> => {
        for (let city = left.pop(); city !== undefined; city = left.pop()) await this.heap(city, options.pool * 2);
      };
      await Promise.all(Array.from({ length: MAKERS }, one));
      await this.#rest(TIDE_MS);
    }
  }

  async #rest(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#stopped && performance.now() < until) await sleep(Math.min(500, Math.max(0, until - performance.now())));
  }

  async #one(city: string): Promise<void> {
    const serial = ++this.#serial;
    const client = this.clients[serial % this.clients.length]!;
    const path = { cityName: city };
    const bead = await client.post('/v0/city/{cityName}/beads', { path, body: { title: `Piece ${serial}` } });
    this.made.set(`${city}/${bead.id}`, bead.id);
    await client.post('/v0/city/{cityName}/sling', { path, body: { target: 'hand', bead: bead.id, no_formula: true, no_convoy: true } });
  }
}
