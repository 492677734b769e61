import { connect } from '../../src/client/index.js';
import { adminAt } from './database.js';
import { api, type Api } from './http.js';

const TYPE = 'test.written';

/** Writes events to a city through several processes, and keeps what each of them was promised. */
export class Writers {
  /** By its number in the log: what was written. */
  readonly acknowledged = new Map<number, number>();
  /** Answers that were no promise, by status; 0 is none. */
  readonly others = new Map<number, number>();
  /** When each that waits now has asked. */
  readonly #waiting = new Map<number, number>();
  #isOver = false;
  #asked = 0;
  readonly #running: Promise<unknown>;

  constructor(urls: readonly string[], city: string, writers: number) {
    this.#running = Promise.all(Array.from({ length: writers }, (_, w) => this.#write(urls, w, city)));
  }

  async #write(urls: readonly string[], w: number, city: string): Promise<void> {
    for (let at = w; !this.#isOver;) {
      const n = ++this.#asked;
      this.#waiting.set(w, n);
      const reply = await emit(api(urls[at % urls.length]!), city, n).catch(() => undefined);
      if (reply?.status === 201) this.acknowledged.set(reply.body.seq as number, n);
      else {
        this.others.set(reply?.status ?? 0, (this.others.get(reply?.status ?? 0) ?? 0) + 1);
        at++; // to another one, as a proxy would
      }
    }
    this.#waiting.delete(w);
  }

  /** Ask it later: whether all that waited now have been answered, well or not. */
  answered(): () => boolean {
    const now = new Map(this.#waiting);
    return () => [...now].every(([w, n]) => this.#waiting.get(w) !== n);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

export const emit = (at: Api, city: string, n: number) =>
  at.post(`/v0/city/${city}/events`, { type: TYPE, actor: 'writer', payload: { n } });

export interface Follower {
  readonly seen: ReadonlyMap<number, number>;
  /** Numbers that came more than once, or not in their order. */
  readonly wrong: readonly number[];
  stop(): Promise<void>;
}

/** What follows the city for ever, as programs do. */
export function follow(url: string, city: string): Follower {
  const aborted = new AbortController();
  const seen = new Map<number, number>();
  const wrong: number[] = [];
  let last = 0;
  const ended = (async () => {
    for await (const event of connect({ url }).events({ city, types: [TYPE], after: 0, signal: aborted.signal, pauseMs: 100 })) {
      const { n } = event.payload as { n: number };
      if (seen.has(event.seq) || event.seq <= last) wrong.push(event.seq);
      last = event.seq;
      seen.set(event.seq, n);
    }
  })();
  return {
    seen,
    wrong,
    stop: async () => {
      aborted.abort();
      await ended;
    },
  };
}

/** What the log of a city has of it. */
export async function written(database: string, city: string): Promise<Map<number, number>> {
  const rows = await adminAt<{ seq: string; n: string }>(
    database,
    `select e.seq, e.payload ->> 'n' as n from events e join event_streams s on s.id = e.stream_id
     where s.name = $1 and e.type = $2 order by e.seq`,
    [city, TYPE],
  );
  return new Map(rows.map(({ seq, n }) => [Number(seq), Number(n)]));
}
