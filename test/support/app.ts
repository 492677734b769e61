import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EditLimits } from '../../src/modules/configuration/config/edit-recovery.js';
import { startApplication, type Application } from '../../src/entry/application.js';
import { AppConfig, loadConfig, type Config } from '../../src/platform/config/config.js';
import type { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { forgetContract, speaksContract } from './contract.js';
import { admin, cloneDatabase, type TestDatabase } from './database.js';
import { KEEPER } from './kept-connections.js';
import { place } from './scratch-database.js';
import { eventually } from './sse.js';

export { DuePoller } from '../../src/platform/database/due-poller.js';

/** Eight times as long as in production: of a machine that has other things to do, an edit may take that. */
const PATIENT_EDITS: EditLimits = { holdS: 240, waitMs: 40_000, safeMs: 120_000 };

export type QueueKind = 'redis' | 'postgres';

export interface StackOptions {
  readonly apis?: number;
  readonly workers?: number;
  readonly queue?: QueueKind;
  /** In milliseconds; more than in production when it is not said. */
  readonly lockTimeoutMs?: number;
  readonly config?: Partial<Config>;
}

export interface Stack {
  /** Of the api processes, in order. */
  readonly urls: string[];
  /** Of the worker processes: health, readiness and metrics only. */
  readonly workerUrls: string[];
  /** The apis first, then the workers. */
  readonly apps: Application[];
  /** One an app, in the order of `apps`. */
  readonly failpoints: Failpoints[];
  readonly databaseUrl: string;
  readonly citiesRoot: string;
  readonly config: AppConfig;
  /** One more process of a role on the same database. */
  add(role: 'api' | 'worker', config?: Partial<Config>): Promise<Application>;
  stop(): Promise<void>;
}

/** The Redis that the global set-up found or started; undefined when this machine has none. */
export const testRedisUrl = process.env.SVC_TEST_REDIS_URL;

/** The queue backends that can be tested here: `describe.each(QUEUES)('… on %s', (queue) => …)`. */
export const QUEUES: QueueKind[] = testRedisUrl === undefined ? ['postgres'] : ['redis', 'postgres'];

/**
 * Several api and worker processes' worth of the product in this one process, each with its own configuration,
 * pool, logger and failpoints, over one cloned database.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const handles = handleCount();
  const dir = await mkdtemp(join(await placeOf(options), 'svc-test-'));
  const database = await cloneDatabase(options.lockTimeoutMs);
  const queue = options.queue ?? QUEUES[0]!;
  if (queue === 'redis' && testRedisUrl === undefined) throw new Error('no Redis here: use QUEUES');
  const config = new AppConfig({
    ...(loadConfig(
      { SVC_DATABASE_URL: database.url, SVC_DATA_DIR: dir, SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', SVC_RUNNER_ISOLATION: 'none' },
      dir,
    ) as Config),
    redisUrl: queue === 'redis' ? testRedisUrl : undefined,
    heartbeatMs: 500,
    providerCheck: 'off',
    // Whatever disk this runs on, it is not full.
    ...{ diskWarnBytes: 2, diskFloorBytes: 1 },
    logLevel: process.env.SVC_LOG_LEVEL ?? 'silent',
    ...options.config,
  });
  const apps: Application[] = [];
  const urls: string[] = [];
  const workerUrls: string[] = [];
  const add: Stack['add'] = async (role, overrides = {}) => {
    const processId = `${role}-${apps.length + 1}-${database.url.slice(-8)}`;
    // The ports of api processes are known once they listen.
    const apiUrl = role === 'worker' ? urls[0] : undefined;
    const own = config.with({ role, processId, apiUrl, ...overrides });
    const app = await startApplication(own, { logger: new AppLogger(createLogger(own.logLevel, { process: processId })) });
    apps.push(app);
    Object.assign(app.app.get(EditLimits, { strict: false }), PATIENT_EDITS);
    speaksContract(app.url);
    (role === 'api' ? urls : workerUrls).push(app.url);
    return app;
  };
  const stop = (): Promise<void> => stopStack(apps, database, dir, handles);
  try {
    for (let i = 0; i < (options.apis ?? 2); i++) await add('api');
    for (let i = 0; i < (options.workers ?? 1); i++) await add('worker');
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return {
    urls,
    workerUrls,
    apps,
    get failpoints() {
      return apps.map((a) => a.failpoints);
    },
    databaseUrl: database.url,
    citiesRoot: config.citiesRoot,
    config,
    add,
    stop,
  };
}

/** What a city's processes see behind walls is of a disk, as in production: a sandbox has a /dev of its own, without the memory of the host. */
async function placeOf({ config }: StackOptions): Promise<string> {
  return config?.isolation === undefined ? place() : tmpdir();
}

/** Stops everything and checks that nothing stays behind: no connection to the database, no socket, no timer. */
async function stopStack(apps: Application[], database: TestDatabase, dir: string, handlesBefore: number): Promise<void> {
  for (const app of apps) app.failpoints.disarm();
  await Promise.all(apps.map((app) => app.stop()));
  // The next server of this port may speak anything.
  for (const app of apps) forgetContract(app.url);
  const name = new URL(database.url).pathname.slice(1);
  let left: unknown[] = [];
  const gone = async (): Promise<boolean> => {
    left = await admin('select application_name, state, query from pg_stat_activity where datname = $1 and application_name <> $2', [
      name,
      KEEPER,
    ]);
    return left.length === 0;
  };
  const clean = await eventually(gone).catch(() => false);
  await database.drop();
  await rm(dir, { recursive: true, force: true });
  if (!clean) throw new Error(`connections were left open: ${JSON.stringify(left)}`);
  // A test file stays loaded, and with it what its variables hold.
  apps.length = 0;
  const closed = await eventually(() => handleCount() <= handlesBefore).catch(() => false);
  if (!closed) throw new Error(`handles were left open: ${JSON.stringify(handles())}, ${handlesBefore} before`);
}

/** Sockets and servers: what an application opens. Timers come and go with the test runner itself. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => /^(TCP|Pipe|UDP|Process)/.test(kind) && kind !== 'PipeWrap');
}

function handleCount(): number {
  return handles().length;
}
