import type { Socket } from 'node:net';
import pg from 'pg';
import { sleep } from '../time/clock.js';
import type { DatabaseServers } from './servers.js';

export interface HangingTimings {
  readonly lookMs: number;
  /** Looks without a received byte before the server is asked. Counted in looks, not in time: a process that was held up itself has looked only once. */
  readonly quietLooks: number;
  /** Time limit for each half of the question: to connect, and to get the answer. */
  readonly askMs: number;
}

export const HANGING: HangingTimings = { lookMs: 1_000, quietLooks: 3, askMs: 5_000 };

/** Members of the driver's client that its types do not have. */
type Client = pg.Client & { readonly readyForQuery?: boolean; readonly processID: number | null };

interface Seen {
  bytes: number;
  quiet: number;
  /** The server has said once that it does no work for this connection. */
  isIdle: boolean;
}

/** Errors of this host, which say nothing about the server. */
const OWN_TROUBLE = new Set(['EMFILE', 'ENFILE', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * Closes connections on which no answer will come. When a server loses its power or freezes, or the network fails, nothing arrives that says so, and TCP
 * retransmits for a quarter of an hour. A statement may take long, so a time limit cannot decide. When nothing has come for some seconds, the server is
 * asked over a new connection. If it does not answer, all connections to it on which nothing has come since are closed. If it answers twice that it
 * does no work for one of them, only that one is closed.
 */
export class HangingConnections {
  readonly #seen = new Map<Client, Seen>();
  #looking: NodeJS.Timeout | undefined;
  #isAsking = false;

  /** @param pooled the server is a pooler: it knows nothing of what its servers do */
  constructor(
    private readonly config: pg.ClientConfig,
    private readonly servers: DatabaseServers,
    private readonly pooled = false,
    private readonly timings: HangingTimings = HANGING,
  ) {}

  /** The same client, watched from when it is connected until it ends. */
  watching(base: typeof pg.Client): typeof pg.Client {
    const add = (client: Client): void => this.#add(client);
    const remove = (client: Client): void => this.#remove(client);
    class Watched extends base {
      constructor(config?: string | pg.ClientConfig) {
        super(config);
        // Queries report the end of their connection. Between two queries nobody may listen, and an `error` without a listener ends the process.
        this.on('error', () => undefined);
        this.once('connect', () => add(this as unknown as Client));
        this.once('end', () => remove(this as unknown as Client));
      }
    }
    return Watched as typeof pg.Client;
  }

  #add(client: Client): void {
    this.#seen.set(client, { bytes: 0, quiet: 0, isIdle: false });
    this.#looking ??= setInterval(() => this.#look(), this.timings.lookMs).unref();
  }

  #remove(client: Client): void {
    this.#seen.delete(client);
    if (this.#seen.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #look(): void {
    let hanging: Client | undefined;
    for (const [client, seen] of this.#seen) {
      const bytes = bytesOf(client);
      if (client.readyForQuery !== false || bytes !== seen.bytes) Object.assign(seen, { bytes, quiet: 0, isIdle: false });
      else if (++seen.quiet >= this.timings.quietLooks) hanging ??= client;
    }
    if (hanging === undefined || this.#isAsking) return;
    this.#isAsking = true;
    void this.#judge(hanging).finally(() => (this.#isAsking = false));
  }

  async #judge({ host, port }: Client): Promise<void> {
    const there = [...this.#seen.keys()].filter((client) => client.host === host && client.port === port);
    const before = new Map(there.map((client) => [client, bytesOf(client)]));
    const working = await this.#ask(host, port, there);
    // Lets bytes that have come meanwhile be read first.
    await sleep(this.timings.lookMs);
    if (working === undefined) this.servers.forget();
    for (const client of there) {
      const seen = this.#seen.get(client);
      if (seen === undefined || bytesOf(client) !== before.get(client)) continue;
      if (working === undefined) giveUp(client);
      else if (seen.quiet < this.timings.quietLooks || this.pooled || working.has(client.processID!)) continue;
      else if (seen.isIdle) giveUp(client);
      else seen.isIdle = true;
    }
  }

  /** Backends of these clients that the server works for; undefined when it does not answer. */
  async #ask(host: string, port: number, clients: readonly Client[]): Promise<ReadonlySet<number> | undefined> {
    const { askMs } = this.timings;
    const client = new pg.Client({
      ...this.config,
      application_name: 'svc-look',
      connectionTimeoutMillis: Math.max(askMs, this.config.connectionTimeoutMillis ?? 0),
      query_timeout: askMs,
    });
    Object.assign(client, { host, port });
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (this.pooled) return new Set();
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where pid = any($1) and (state is null or state not like 'idle%')`,
        [clients.map(({ processID }) => processID)],
      );
      return new Set(rows.map(({ pid }) => pid));
    } catch (error) {
      // A server that answers with an error is there; an error of this host tells nothing: all count as working.
      const isUnknown = error instanceof pg.DatabaseError || OWN_TROUBLE.has((error as NodeJS.ErrnoException).code ?? '');
      return isUnknown ? new Set(clients.map(({ processID }) => processID!)) : undefined;
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}

const bytesOf = ({ connection }: Client): number => (connection.stream as Socket).bytesRead;

function giveUp({ connection }: Client): void {
  connection.stream.destroy(Object.assign(new Error('the server of the database does not answer'), { code: 'ETIMEDOUT' }));
}
