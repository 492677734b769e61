import { expect } from '@jest/globals';
import type { Stack } from './app.js';
import { adminAt } from './database.js';
import type { Reply } from './http.js';
import { openStream, type Frame, type OpenStream } from './sse.js';

export interface Terminal {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly payload: {
    readonly request_id: string;
    readonly operation?: string;
    readonly error_code?: string;
    readonly error_message?: string;
  };
}

const isTerminal = (f: Frame): boolean =>
  f.event === 'tagged_event' && (f.data.type === 'request.failed' || String(f.data.type).startsWith('request.result.'));

/** Every 202 of a suite and the supervisor's stream on one replica: each must meet exactly one terminal event. */
export class Ledger {
  readonly #accepted = new Map<string, string>();

  private constructor(
    private readonly stack: Stack,
    readonly stream: OpenStream,
  ) {}

  /** Opens the stream; what is accepted afterwards is followed. */
  static async open(stack: Stack, replica = stack.urls.at(-1)!): Promise<Ledger> {
    const stream = await openStream(`${replica}/v0/events/stream`);
    expect(stream.response.status).toBe(200);
    return new Ledger(stack, stream);
  }

  /** Notes a 202. @returns its request id. */
  accept(reply: Reply, what = ''): string {
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 202 });
    this.#accepted.set(reply.body.request_id as string, what);
    return reply.body.request_id as string;
  }

  /** The terminal event of an accepted request, as the stream delivers it. */
  async ended(request: Reply | string): Promise<Terminal> {
    const id = typeof request === 'string' ? request : this.accept(request);
    return (await this.stream.until((f) => isTerminal(f) && f.data.payload.request_id === id)).data as Terminal;
  }

  async succeeded(reply: Reply, type: string): Promise<void> {
    expect(await this.ended(reply)).toMatchObject({ type });
  }

  /** Of everything accepted: one terminal event in the log, one on the stream, and no other terminal event at all. */
  async settle(): Promise<void> {
    await Promise.all([...this.#accepted.keys()].map((id) => this.ended(id)));
    const logged = await adminAt<{ id: string; n: number }>(
      this.stack.databaseUrl,
      `select payload ->> 'request_id' as id, count(*)::int as n from events
       where type = 'request.failed' or type like 'request.result.%' group by 1`,
    );
    const streamed = this.stream.frames.filter(isTerminal).map((f) => f.data.payload.request_id as string);
    expect(new Map(logged.map((row) => [row.id, row.n]))).toEqual(new Map([...this.#accepted.keys()].map((id) => [id, 1])));
    expect(streamed.sort()).toEqual([...this.#accepted.keys()].sort());
    const open = await adminAt(this.stack.databaseUrl, `select id, kind, state from operations where state in ('accepted', 'running')`);
    expect(open).toEqual([]);
  }
}
