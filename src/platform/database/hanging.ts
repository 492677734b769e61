import type { Socket } from 'node:net';
import pg from 'pg';
import { sleep } from '../time/clock.js';
import type { DatabaseServers } from './servers.js';

export interface HangingTimings {
  readonly lookMs: number;
  /** Looks without a byte before the server is asked. In looks, not in time: of a process that was held up itself only one has passed. */
  readonly quietLooks: number;
  /** For each half of the question: to get a connection, and to have its answer. */
  readonly askMs: number;
}

export const HANGING: HangingTimings = { lookMs: 1_000, quietLooks: 3, askMs: 5_000 };

/** What the driver has of a connection and its types do not say. */
type Client = pg.Client & { readonly readyForQuery?: boolean; readonly processID: number | null };

interface Seen {
  bytes: number;
  quiet: number;
  /** Whether the server has said that it does not work for it. */
  isIdle: boolean;
}

/** What keeps this process from asking says nothing about the server. */
const OWN_TROUBLE = new Set(['EMFILE', 'ENFILE', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * Notices connections on which no answer will come: of a server that has lost its power, or that is frozen, and of a way that was lost, nothing
 * arrives that says so, and TCP repeats itself for a quarter of an hour. A statement may take long, so no clock decides. When nothing has come for
 * some seconds the server is asked over a connection of its own. If it does not answer, all connections to it are given up on which nothing has
 * come since. If it answers that it does no work for one, and says so again, this one is.
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
        // Whoever has it hears of its end by what he asks. Between two questions nobody may listen, and its `error` would end the process.
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
    // What has come meanwhile is read first.
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

  /** For which of these the server works; undefined when it does not answer. */
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
      // Whatever it says, it is there.
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
