import pg from 'pg';
import { addressesOf } from '../config/database-address.js';
import { sleep } from '../time/clock.js';

const ASK_MS = 2_000;
/** How long a connection waits for a primary: while a standby is being promoted no server takes writes. */
const WAIT_MS = 3_000;
const PAUSE_MS = 200;
/** How long the other hosts have to answer, once one takes writes. */
const GRACE_MS = 250;

/**
 * The servers that an address names, and which of them is the primary. A single host is it, without being asked. Of several, each is asked whether it is a
 * standby, and the one that is not counts until a connection to it fails. If two take writes, the one that was promoted later counts: the other is the former
 * primary.
 */
export class DatabaseServers {
  readonly addresses: readonly string[];
  #found: string | undefined;
  #looking: Promise<string> | undefined;

  constructor(
    url: string,
    private readonly waitMs = WAIT_MS,
  ) {
    this.addresses = addressesOf(url);
  }

  /** Whether there is a choice. */
  get many(): boolean {
    return this.addresses.length > 1;
  }

  /** @throws Error when none takes writes for some seconds */
  async current(): Promise<string> {
    if (!this.many) return this.addresses[0]!;
    if (this.#found !== undefined) return this.#found;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** A connection to this address failed, or it takes no writes: the next call of `current` asks all servers. */
  failed(address: string): void {
    if (this.#found === address) this.#found = undefined;
  }

  forget(): void {
    this.#found = undefined;
  }

  async #look(): Promise<string> {
    for (const until = performance.now() + this.waitMs; ;) {
      const found = await newest(this.addresses);
      if (found !== undefined) return (this.#found = found);
      if (performance.now() > until) throw noPrimary('none of the hosts of SVC_DATABASE_URL takes writes');
      await sleep(PAUSE_MS);
    }
  }
}

/** An error with the code of a server that cannot be used yet (`cannot_connect_now`): clients are told to try again. */
export const noPrimary = (message: string): Error => Object.assign(new Error(message), { code: '57P03' });

/** Of the servers that take writes the one that was promoted last. Once one has answered, the others have GRACE_MS. */
async function newest(addresses: readonly string[]): Promise<string | undefined> {
  const over = new AbortController();
  let best = { address: undefined as string | undefined, timeline: 0 };
  const asking = addresses.map(async (address) => {
    const timeline = await timelineOf(address);
    if (timeline > best.timeline) best = { address, timeline };
    if (timeline > 0) void sleep(GRACE_MS, over.signal).then(() => over.abort());
  });
  await Promise.race([Promise.all(asking), new Promise((resolve) => over.signal.addEventListener('abort', resolve, { once: true }))]);
  over.abort();
  return best.address;
}

/** How often the server was promoted, from 1; 0 when it is a standby or does not answer. */
async function timelineOf(address: string): Promise<number> {
  const client = new pg.Client({
    connectionString: address,
    application_name: 'svc-look',
    connectionTimeoutMillis: ASK_MS,
    query_timeout: ASK_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: number }>(
      `select case when pg_is_in_recovery() then 0 else ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int end as timeline`,
    );
    return rows[0]?.timeline ?? 0;
  } catch {
    return 0;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const hostOf = ({ hostname }: URL): string => decodeURIComponent(hostname).replace(/^\[|]$/g, '');
const portOf = ({ port }: URL): number => Number(port || 5432);

const known = new Map<string, DatabaseServers>();

/** Shared by all connections of the process to an address, so that a failover is found out once. */
export function serversOf(url: string): DatabaseServers {
  let servers = known.get(url);
  if (servers === undefined) {
    servers = new DatabaseServers(url);
    if (servers.many) known.set(url, servers);
  }
  return servers;
}

type Connected = (error: Error | null) => void;

/** A client that connects to the present primary. */
export function clientOf(servers: DatabaseServers, base = pg.Client): typeof pg.Client {
  class ClientOfMany extends base {
    override connect(): Promise<this>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<this> | void {
      if (callback === undefined) return new Promise((resolve, reject) => this.#go((error) => (error ? reject(error) : resolve(this))));
      this.#go(callback);
    }

    #go(done: Connected): void {
      servers.current().then((address) => {
        const at = new URL(address);
        Object.assign(this, { host: hostOf(at), port: portOf(at) });
        super.connect(((error: Error | null) => {
          if (error) servers.failed(address);
          done(error ?? null);
        }) as never);
      }, done);
    }
  }
  return ClientOfMany as typeof pg.Client;
}
