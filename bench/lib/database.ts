import { chmodSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrateAll } from '../../src/entry/schema.js';
import { startEmbedded, type EmbeddedPostgres } from '../../src/platform/embedded/embedded-postgres.js';
import { fastDir } from './machine.js';
import { FLOOR_SCHEMA } from '../floors/schema.js';

/**
 * PostgreSQL with its data in RAM and a sleep of 1 ms before each flush: it behaves like a networked disk, group
 * commit included, without the noise of this machine's own.
 */
const SETTINGS = {
  commit_delay: '1000',
  commit_siblings: '0',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  max_connections: '300',
};

const TEMPLATE = 'bench_template';

export class BenchPostgres {
  #made = 0;

  private constructor(
    private readonly server: EmbeddedPostgres,
    private readonly dir: string,
  ) {}

  static async start(): Promise<BenchPostgres> {
    const dir = await mkdtemp(join(fastDir, 'svc-bench-'));
    chmodSync(dir, 0o755);
    try {
      const postgres = await BenchPostgres.at(dir);
      await postgres.#admin(`create database ${TEMPLATE} template template0`);
      await migrateAll(postgres.url(TEMPLATE));
      await withClient(postgres.url(TEMPLATE), (client) => client.query(FLOOR_SCHEMA));
      return postgres;
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  /** In a folder that may have one already: what is in it stays. */
  static async at(dir: string, settings: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
    return new BenchPostgres(await startEmbedded(dir, { settings: { ...SETTINGS, ...settings } }), dir);
  }

  /** A migrated database that also holds the floors' tables and `cities` running cities, city-00001 and so on. */
  async database(cities: number): Promise<string> {
    const name = `bench_${++this.#made}`;
    await this.#admin(`create database ${name} template ${TEMPLATE}`);
    const url = this.url(name);
    await withClient(url, async (client) => {
      await client.query(SEED_CITIES, [cities]);
      await client.query('insert into floor_city (id) select generate_series(1, $1::int)', [Math.max(cities, 32)]);
    });
    await withClient(url, (client) => client.query('vacuum analyze event_streams, cities, rigs, agents, floor_city'));
    return url;
  }

  /** Of its first process, whose children all others are. */
  get pid(): number {
    return Number.parseInt(readFileSync(join(this.dir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);
  }

  url(database: string): string {
    return this.server.url.replace(/[^/]*$/, database);
  }

  /** A migrated database of this name with `cities` running cities; false when there is one by this name. */
  async named(name: string, cities: number): Promise<boolean> {
    const [{ found }] = (
      await withClient(this.url('postgres'), (client) =>
        client.query<{ found: boolean }>('select exists (select from pg_database where datname = $1) as found', [name]),
      )
    ).rows as [{ found: boolean }];
    if (found) return false;
    await this.#admin(`create database ${name} template template0`);
    await migrateAll(this.url(name));
    await withClient(this.url(name), (client) => client.query(SEED_CITIES, [cities]));
    return true;
  }

  /** Ends the server and leaves its files. */
  async end(): Promise<void> {
    await this.server.stop();
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #admin(text: string): Promise<void> {
    await withClient(this.url('postgres'), (client) => client.query(text));
  }
}

const SEED_CITIES = `
  with streams as (
    insert into event_streams (name) select 'city-' || lpad(g::text, 5, '0') from generate_series(1, $1::int) g returning id, name
  )
  , homes as (insert into rigs (stream_id, name, prefix) select id, '', 'b' from streams)
  , workers as (insert into agents (stream_id, name, base, kind) select id, 'polecat', 'polecat', 'agent' from streams)
  insert into cities (name, dir, stream_id, provider, desired, running, phase, started_at)
  select name, '/nowhere/' || name, id, 'loopback', 'running', true, 'running', now() from streams`;

export const cityName = (n: number): string => `city-${String(n).padStart(5, '0')}`;

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
