import { EventEmitter } from 'node:events';
import type { Client } from '../../src/client/index.js';

export interface Told {
  readonly city: string;
  readonly seq: number;
  readonly type: string;
  readonly subject?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  /** Of `performance.now()`. */
  readonly at: number;
}

interface Log {
  first: number;
  last: number;
  gaps: string[];
}

/** Everything that is told, city by city and on the supervisor's own stream, and whether a number is missing or comes twice. */
export class Following {
  readonly told = new EventEmitter<{ event: [Told] }>();
  readonly byCity = new Map<string, Log>();
  readonly bySupervisor = new Map<string, Log>();
  pauses = 0;
  events = 0;
  failures: string[] = [];
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];

  /** Each client asks one replica first. */
  constructor(private readonly clients: readonly Client[]) {
    this.told.setMaxListeners(0);
  }

  async start(cities: readonly string[]): Promise<void> {
    const { signal } = this.#stop;
    const common = { signal, pauseMs: 200, onPause: () => void this.pauses++ };
    const all = this.clients[0]!;
    const after = await all.head();
    this.#loops.push(
      this.#run('the supervisor', async () => {
        for await (const event of all.events({ ...common, after })) {
          const { city, seq } = event as { city?: string; seq: number };
          if (city !== undefined) note(this.bySupervisor, city, seq);
        }
      }),
    );
    for (const [n, city] of cities.entries()) {
      const client = this.clients[n % this.clients.length]!;
      const from = Number(await client.head({ city }));
      this.byCity.set(city, { first: from, last: from, gaps: [] });
      this.#loops.push(
        this.#run(city, async () => {
          for await (const event of client.events({ ...common, city, after: from })) {
            const { seq, type, subject, payload } = event as unknown as Omit<Told, 'city' | 'at'>;
            note(this.byCity, city, seq);
            this.events++;
            this.told.emit('event', { city, seq, type, at: performance.now(), ...(subject && { subject }), ...(payload && { payload }) });
          }
        }),
      );
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  /** What is wrong, compared with the heads of the logs; nothing when each number came once and in order. */
  compared(heads: ReadonlyMap<string, number>): string[] {
    const wrong = [...this.failures];
    for (const [name, logs] of [
      ['its own stream', this.byCity],
      ["the supervisor's stream", this.bySupervisor],
    ] as const) {
      for (const [city, head] of heads) {
        const log = logs.get(city);
        if (log === undefined) wrong.push(`${city}: nothing on ${name}`);
        else if (log.last !== head) wrong.push(`${city}: ${name} ends at ${log.last}, its log at ${head}`);
        wrong.push(...(log?.gaps ?? []).map((gap) => `${city}: ${gap} on ${name}`));
      }
    }
    return wrong;
  }

  async #run(name: string, follow: () => Promise<void>): Promise<void> {
    try {
      await follow();
      if (!this.#stop.signal.aborted) this.failures.push(`the stream of ${name} has ended`);
    } catch (error) {
      this.failures.push(`the stream of ${name} has failed: ${String(error)}`);
    }
  }
}

function note(logs: Map<string, Log>, city: string, seq: number): void {
  const log = logs.get(city);
  if (log === undefined) return void logs.set(city, { first: seq, last: seq, gaps: [] });
  if (seq !== log.last + 1) log.gaps.push(`${seq} after ${log.last}`);
  log.last = seq;
}
