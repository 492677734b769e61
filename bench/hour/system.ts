import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrateAll } from '../../src/entry/schema.js';
import { startEmbedded, type EmbeddedPostgres } from '../../src/platform/embedded/embedded-postgres.js';
import { startRedis, type RedisServer } from '../../test/support/redis.js';
import { postmasterOf, Program } from '../cities/program.js';
import { options } from './options.js';

const APIS = 2;
const WORKERS = 3;
/** Two workers have to carry what the third one had. */
const ROOM = 1.5;

export type Role = 'api' | 'worker';

/** A process in its place: killed, and started again at the same port. */
export class Place {
  program!: Program;
  /** As the database knows the process. */
  id = '';
  starts = 0;

  constructor(
    readonly name: string,
    readonly role: Role,
    private readonly begin: (place: Place) => Promise<[Program, id: string]>,
  ) {}

  async start(): Promise<void> {
    [this.program, this.id] = await this.begin(this);
    this.starts++;
  }
}

/** PostgreSQL on a disk, Redis, two apis and three workers, each in a process of its own. */
export class System {
  readonly apis: Place[] = [];
  readonly workers: Place[] = [];
  readonly logDir: string;

  private constructor(
    readonly dataDir: string,
    private readonly server: EmbeddedPostgres,
    private redis: RedisServer,
    readonly sql: pg.Pool,
  ) {
    this.logDir = join(dataDir, 'logs');
    mkdirSync(this.logDir, { recursive: true });
  }

  static async start(): Promise<System> {
    const dataDir = options.keep ?? (await mkdtemp(join(tmpdir(), 'svc-hour-')));
    const settings = { max_connections: '200', shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'top' };
    const server = await startEmbedded(dataDir, { settings });
    await migrateAll(server.url);
    const sql = new pg.Pool({ connectionString: server.url, max: 2, application_name: 'hour' });
    const system = new System(dataDir, server, await startRedis(), sql);
    for (let n = 1; n <= APIS; n++) system.apis.push(new Place(`api-${n}`, 'api', (place) => system.#begin(place)));
    for (let n = 1; n <= WORKERS; n++) system.workers.push(new Place(`worker-${n}`, 'worker', (place) => system.#begin(place)));
    for (const place of system.places) await place.start();
    await sql.query('create extension if not exists pg_stat_statements');
    return system;
  }

  get places(): readonly Place[] {
    return [...this.apis, ...this.workers];
  }

  get urls(): string[] {
    return this.apis.map(({ program }) => `http://127.0.0.1:${program.port}`);
  }

  get postmaster(): number {
    return postmasterOf(this.dataDir);
  }

  get redisPid(): number {
    return this.redis.pid;
  }

  async rows<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.sql.query<R>(text, values)).rows;
  }

  /** It comes back empty, at the same port. */
  async restartRedis(downMs: number): Promise<void> {
    const { port } = this.redis;
    await this.redis.stop();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    this.redis = await startRedis(port);
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map(({ program }) => program?.end('SIGTERM')));
    await Promise.all(this.apis.map(({ program }) => program?.end('SIGTERM')));
    await this.sql.end();
    await this.redis.stop();
    await this.server.stop();
    if (options.keep === undefined) await rm(this.dataDir, { recursive: true, force: true });
  }

  async #begin(place: Place): Promise<[Program, id: string]> {
    const sessions = options.sessions + options.cities * options.pool;
    const capacity = String(Math.ceil((ROOM * sessions) / WORKERS) + 20);
    const worker: Record<string, string> = place.role === 'api' ? {} : { SVC_API_URL: this.urls[0]!, SVC_RUNNER_CAPACITY: capacity };
    const program = await Program.start({
      name: place.name,
      role: place.role,
      dataDir: this.dataDir,
      logDir: this.logDir,
      databaseUrl: this.server.url,
      ...(place.starts === 0 ? {} : { port: place.program.port }),
      env: { SVC_REDIS_URL: this.redis.url, SVC_RUNNER_ISOLATION: options.isolation, SVC_LOG_LEVEL: 'warn', ...worker },
    });
    // Nobody else starts one at the same time.
    const [row] = await this.rows<{ id: string }>('select id from processes where role = $1 order by started_at desc limit 1', [
      place.role,
    ]);
    return [program, row!.id];
  }
}
