import { randomUUID } from 'node:crypto';
import { api, type Reply } from '../support/http.js';
import { eventually, openStream, type Frame } from '../support/sse.js';

export interface SeenEvent {
  readonly city: string;
  readonly seq: number;
  readonly type: string;
  readonly payload: Record<string, unknown>;
}

/** Answers that ask for patience: the first try is still at work, or died and is about to be undone. */
const PENDING = new Set(['Idempotency Key In Flight', 'Operation In Progress']);

/** What a careful client does: repeats a mutation under the same Idempotency-Key until it has an answer. */
export async function insist(url: string, key: string, path: string, body?: unknown): Promise<Reply> {
  const client = api(url, { Authorization: `Bearer ${key}`, 'Idempotency-Key': randomUUID() });
  return eventually(async () => {
    const reply = await client.post(path, body).catch(() => undefined);
    const again = reply === undefined || reply.status >= 502 || (reply.status === 409 && PENDING.has(reply.body?.title));
    return again ? undefined : reply;
  }, 300_000);
}

/** A reader of the supervisor's feed that reconnects with the last id it has, like a browser's EventSource. */
export class Feed {
  readonly events: SeenEvent[] = [];
  reconnects = 0;
  #last: string | undefined;
  #closing: (() => Promise<void>) | undefined;
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly url: string,
    private readonly key: string,
    cursor: string,
  ) {
    this.#running = this.#run(cursor);
  }

  async #run(cursor: string): Promise<void> {
    while (!this.#stopped) {
      const headers = { Authorization: `Bearer ${this.key}`, ...(this.#last === undefined ? {} : { 'Last-Event-ID': this.#last }) };
      try {
        const stream = await openStream(`${this.url}/v0/events/stream?after_cursor=${encodeURIComponent(cursor)}`, { headers });
        this.#closing = () => stream.close();
        await this.#drain(stream.frames, () => stream.ended);
      } catch {
        // nobody behind the proxy for a moment
      }
      if (!this.#stopped) this.reconnects++;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #drain(frames: readonly Frame[], ended: () => boolean): Promise<void> {
    for (let read = 0; ;) {
      for (; read < frames.length; read++) {
        const { id, event, data } = frames[read]!;
        if (id !== undefined) this.#last = id;
        if (event !== 'heartbeat') this.events.push(data as SeenEvent);
      }
      if (ended()) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The terminal events of a request; waits for the first. */
  async ends(requestId: string, ms = 300_000): Promise<SeenEvent[]> {
    const find = (): SeenEvent[] =>
      this.events.filter(
        (e) => e.payload.request_id === requestId && (e.type === 'request.failed' || e.type.startsWith('request.result.')),
      );
    await eventually(() => find().length > 0, ms);
    return find();
  }

  /** Every stream's seqs follow each other: nothing lost, nothing twice, nothing out of order. */
  faults(): string[] {
    const last = new Map<string, number>();
    const found: string[] = [];
    for (const { city, seq } of this.events.map((e) => ({ city: streamOf(e), seq: e.seq }))) {
      const before = last.get(city);
      if (before !== undefined && seq !== before + 1) found.push(`${city}: ${before} then ${seq}`);
      last.set(city, seq);
    }
    return found;
  }

  async close(): Promise<void> {
    this.#stopped = true;
    await this.#closing?.();
    await this.#running;
  }
}

/** Ends of city operations live on the supervisor's stream and carry the city they are about. */
function streamOf({ city, type }: SeenEvent): string {
  return type === 'request.failed' || type.startsWith('request.result.') || type.startsWith('supervisor.') ? '__supervisor__' : city;
}
