import type { Client } from '../../src/client/index.js';
import { sleep } from '../lib/machine.js';
import type { Following, Told } from './following.js';
import { options } from './options.js';

export interface Talked {
  readonly city: string;
  readonly id: string;
}

interface Sent {
  readonly text: string;
  readonly answer: string;
  /** Seconds since 1970. */
  readonly at: number;
  /** City and id. */
  readonly session: string;
}

const CLIENTS = 8;
/** How long somebody waits for an answer before another one is talked to. */
const PATIENCE_MS = 120_000;

/** People who talk to sessions: each to one that does not speak, about something that nobody has said before. */
export class Talking {
  /** By the request that was accepted. */
  readonly sent = new Map<string, Sent>();
  readonly answerMs: number[] = [];
  readonly refused: string[] = [];
  readonly #free: Talked[] = [];
  readonly #waiting = new Map<string, { readonly session: Talked; readonly since: number }>();
  readonly #loops: Promise<void>[] = [];
  #serial = 0;
  #stopped = false;

  constructor(
    private readonly clients: readonly Client[],
    following: Following,
  ) {
    following.told.on('event', (told) => this.#hear(told));
  }

  /** One more that may be talked to. */
  add(session: Talked): void {
    this.#free.push(session);
  }

  start(): void {
    const pauseMs = (CLIENTS * 1000) / options.messages;
    for (let n = 0; n < CLIENTS; n++) this.#loops.push(this.#talk(this.clients[n % this.clients.length]!, pauseMs));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #talk(client: Client, pauseMs: number): Promise<void> {
    await sleep(Math.random() * pauseMs);
    while (!this.#stopped) {
      const began = performance.now();
      await this.#one(client).catch((error: unknown) => this.refused.push(String(error)));
      await sleep(Math.max(0, pauseMs * (0.5 + Math.random()) - (performance.now() - began)));
    }
  }

  async #one(client: Client): Promise<void> {
    const [session] = this.#free.splice(Math.floor(Math.random() * this.#free.length), 1);
    if (session === undefined) return;
    const { city, id } = session;
    const [text, answer] = this.#words();
    const key = `${city}/${id}`;
    this.#waiting.set(key, { session, since: performance.now() });
    const at = Date.now() / 1000;
    const path = { cityName: city, id };
    const accepted = await client.post('/v0/city/{cityName}/session/{id}/messages', { path, body: { message: text } });
    this.sent.set(accepted.request_id, { text, answer, at, session: key });
    for (const [late, { session: again, since }] of this.#waiting) {
      if (performance.now() - since < PATIENCE_MS) continue;
      this.#waiting.delete(late);
      this.#free.push(again);
    }
  }

  /** One in eight speaks for two seconds. */
  #words(): [text: string, answer: string] {
    const serial = ++this.#serial;
    if (serial % 8 === 0) return ['stream 20 100', Array.from({ length: 20 }, (_, n) => `${n + 1} `).join('')];
    return [`word ${serial}`, `echo: word ${serial}`];
  }

  #hear({ city, type, payload, at }: Told): void {
    if (type !== 'session.turn.ended') return;
    const key = `${city}/${payload!.session_id as string}`;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    this.#waiting.delete(key);
    this.#free.push(waiting.session);
    this.answerMs.push(at - waiting.since);
  }
}
