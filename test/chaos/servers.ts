import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded, type EmbeddedPostgres } from '../../src/platform/embedded/embedded-postgres.js';
import { migrateAll } from '../../src/entry/schema.js';
import { startRedis, type RedisServer } from '../support/redis.js';

/** A PostgreSQL of the run's own, with real flushes. It can be stopped immediately and started again. */
export class ChaosPostgres {
  #server!: EmbeddedPostgres;
  #up = false;
  readonly #databases: string[] = [];

  private constructor(private readonly directory: string) {}

  static async start(): Promise<ChaosPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-chaos-pg-'));
    await chmod(directory, 0o755);
    const postgres = new ChaosPostgres(directory);
    await postgres.#start();
    await postgres.query('create database chaos_template');
    await migrateAll(postgres.url('chaos_template'));
    return postgres;
  }

  /** The port changes with every start; 1 answers nothing, for the time in between. */
  get port(): number {
    return this.#up ? Number(new URL(this.#server.url).port) : 1;
  }

  url(database: string): string {
    const url = new URL(this.#server.url);
    url.pathname = `/${database}`;
    return url.href;
  }

  async query<R extends pg.QueryResultRow>(sql: string, values: unknown[] = [], database = 'postgres'): Promise<R[]> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 20_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<R>(sql, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async createDatabase(name: string): Promise<void> {
    // A copy of files, because it ends in a checkpoint: otherwise a crash soon after gives numbers of a copied sequence out again.
    await this.query(`create database ${name} template chaos_template strategy file_copy`);
    this.#databases.push(name);
  }

  async dropDatabase(name: string): Promise<void> {
    await this.query(`drop database if exists ${name} with (force)`);
  }

  /** As if the machine had lost its power, except for what the disk's cache holds. */
  async crash(): Promise<void> {
    this.#up = false;
    this.#server.abandon();
    await this.#server.stop();
  }

  async restart(): Promise<void> {
    if (!this.#up) await this.#start();
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    this.#server = await startEmbedded(this.directory, { settings: { max_connections: '300', wal_level: 'minimal' } });
    this.#up = true;
  }
}

/** A Redis of the run's own, on one port for its whole life. */
export class ChaosRedis {
  private constructor(
    private server: RedisServer | undefined,
    readonly port: number,
  ) {}

  static async start(): Promise<ChaosRedis> {
    const server = await startRedis();
    return new ChaosRedis(server, server.port);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async flush(): Promise<void> {
    await new Promise<void>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: this.port }, () => socket.write('FLUSHALL\r\n'));
      socket.once('data', () => socket.destroy());
      socket.once('error', () => socket.destroy());
      socket.once('close', () => resolve());
      socket.setTimeout(1_000, () => socket.destroy());
    });
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await server?.stop();
  }

  async restart(): Promise<void> {
    this.server ??= await startRedis(this.port);
  }
}
