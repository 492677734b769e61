import { Agent, request } from 'node:http';
import pg from 'pg';
import { encodeHint, HINT_CHANNEL } from '../../src/platform/streams/hint.js';
import { nowUs, sleep } from './machine.js';

/** Where a load client publishes to. Each event carries its time, so that whoever receives it knows how late it is. */
export type Publishing =
  | { readonly kind: 'none' }
  /** To a bare server: the body is the event. */
  | { readonly kind: 'post'; readonly port: number; readonly path: string; readonly bytes: number }
  /** Through the product's API. */
  | { readonly kind: 'emit'; readonly port: number; readonly cities: readonly string[]; readonly bytes: number }
  /** Straight into the log, as another replica does it: append, commit, then NOTIFY. */
  | { readonly kind: 'log'; readonly url: string; readonly cities: readonly string[]; readonly bytes: number };

export interface Publisher {
  /** Publishes `n` events now. Does not wait. */
  publish(n: number): void;
  readonly failures: number;
  idle(): Promise<void>;
  close(): Promise<void>;
}

const stamp = (): string => String(nowUs()).padStart(16, '0');

/** A JSON object of exactly `bytes` characters with the time in it. */
function payload(bytes: number): string {
  const text = `{"t":"${stamp()}","note":"`;
  return `${text}${'x'.repeat(Math.max(0, bytes - text.length - 2))}"}`;
}

export async function createPublisher(where: Publishing): Promise<Publisher> {
  if (where.kind === 'log') return LogPublisher.connect(where);
  if (where.kind === 'none')
    return { publish: () => undefined, failures: 0, idle: () => Promise.resolve(), close: () => Promise.resolve() };
  return new HttpPublisher(where);
}

/** Events are due at fixed times; late ones go out at once. Returns how many there were. */
export async function publishFor(seconds: number, rate: number, publish: (n: number) => void): Promise<number> {
  const started = performance.now();
  let sent = 0;
  for (;;) {
    const elapsed = (performance.now() - started) / 1000;
    if (elapsed >= seconds) return sent;
    const due = Math.floor(elapsed * rate);
    if (due > sent) publish(due - sent);
    sent = due;
    await sleep(Math.min(5, 1000 / rate));
  }
}

class HttpPublisher implements Publisher {
  failures = 0;
  #sent = 0;
  #open = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });

  constructor(private readonly where: Extract<Publishing, { kind: 'post' | 'emit' }>) {}

  publish(n: number): void {
    for (let i = 0; i < n; i++) this.#one();
  }

  #one(): void {
    const { where } = this;
    const n = this.#sent++;
    const body =
      where.kind === 'post'
        ? payload(where.bytes)
        : `{"type":"bench.tick","actor":"agent-7","subject":"row-1","payload":${payload(where.bytes)}}`;
    const path = where.kind === 'post' ? where.path : `/v0/city/${where.cities[n % where.cities.length]}/events`;
    const headers = {
      'content-type': where.kind === 'post' ? 'application/octet-stream' : 'application/json',
      'content-length': body.length,
      'x-svc-request': '1',
    };
    this.#open++;
    const outgoing = request({ host: '127.0.0.1', port: where.port, path, method: 'POST', agent: this.#agent, headers }, (answer) => {
      if (answer.statusCode! >= 300) this.failures++;
      answer.resume();
      answer.on('close', () => this.#open--);
    });
    outgoing.on('error', () => {
      this.#open--;
      this.failures++;
    });
    outgoing.end(body);
  }

  async idle(): Promise<void> {
    const limit = Date.now() + 5_000;
    while (this.#open > 0 && Date.now() < limit) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  close(): Promise<void> {
    this.#agent.destroy();
    return Promise.resolve();
  }
}

class LogPublisher implements Publisher {
  failures = 0;
  #n = 0;
  #due: string[] = [];
  #writing: Promise<void> | undefined;

  private constructor(
    private readonly where: Extract<Publishing, { kind: 'log' }>,
    private readonly client: pg.Client,
  ) {}

  static async connect(where: Extract<Publishing, { kind: 'log' }>): Promise<LogPublisher> {
    const client = new pg.Client({ connectionString: where.url });
    await client.connect();
    return new LogPublisher(where, client);
  }

  publish(n: number): void {
    for (let i = 0; i < n; i++) {
      const stream = this.where.cities[this.#n++ % this.where.cities.length];
      this.#due.push(
        `{"stream":"${stream}","type":"bench.tick","actor":"agent-7","subject":"row-1","payload":${payload(this.where.bytes)}}`,
      );
    }
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  async #write(): Promise<void> {
    while (this.#due.length > 0) {
      const values = [`[${this.#due.join(',')}]`];
      this.#due = [];
      try {
        const text = 'select stream, max(seq)::int as head from append_events($1::jsonb) group by stream';
        const { rows } = await this.client.query<{ stream: string; head: number }>({ name: 'append', text, values });
        const hint = encodeHint(new Map(rows.map((row) => [row.stream, row.head])));
        await this.client.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [HINT_CHANNEL, hint] });
      } catch (error) {
        this.failures++;
        console.error(error);
      }
    }
  }

  async idle(): Promise<void> {
    await this.#writing;
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
