import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { migrateAll } from '../../src/entry/schema.js';
import { adminAt, withDatabase } from './database.js';
import { redisServerPath, startRedis } from './redis.js';
import { throwAwayServer } from './scratch-database.js';

export { migrateAll };

/**
 * The servers that the db and e2e projects share. What `TEST_DATABASE_URL` and `TEST_REDIS_URL` name is used as it
 * is; what they do not name is started here and stopped afterwards. Only databases made here are ever dropped.
 */
const stops: (() => Promise<void>)[] = [];

export async function startServers(): Promise<void> {
  const serverUrl = await database();
  const redisUrl = await redis();
  const prefix = `svc_test_${process.pid}_${randomBytes(3).toString('hex')}`;
  // A server of our own is thrown away with all that it has.
  if (process.env.TEST_DATABASE_URL !== undefined) stops.push(() => dropAll(serverUrl, prefix));
  // Who runs tests many times on one server has migrated a database for all of them.
  const template = process.env.TEST_DATABASE_TEMPLATE ?? (await migrated(serverUrl, `${prefix}_template`));
  process.env.SVC_TEST_SERVER_URL = serverUrl;
  process.env.SVC_TEST_PREFIX = prefix;
  process.env.SVC_TEST_TEMPLATE = template;
  if (redisUrl !== undefined) process.env.SVC_TEST_REDIS_URL = redisUrl;
}

export async function stopServers(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

async function migrated(serverUrl: string, name: string): Promise<string> {
  await adminAt(serverUrl, `create database ${name} template template0`);
  await migrateAll(withDatabase(serverUrl, name));
  return name;
}

async function dropAll(serverUrl: string, prefix: string): Promise<void> {
  const left = await adminAt<{ datname: string }>(serverUrl, 'select datname from pg_database where starts_with(datname, $1)', [prefix]);
  for (const { datname } of left) await adminAt(serverUrl, `drop database if exists "${datname}" with (force)`);
}

async function database(): Promise<string> {
  if (process.env.TEST_DATABASE_URL !== undefined) return process.env.TEST_DATABASE_URL;
  const server = await throwAwayServer();
  stops.push(() => server.stop());
  return server.url;
}

async function redis(): Promise<string | undefined> {
  if (process.env.TEST_REDIS_URL !== undefined) return process.env.TEST_REDIS_URL;
  if (redisServerPath() !== undefined) {
    const server = await startRedis();
    stops.push(() => server.stop());
    return server.url;
  }
  const contained = await redisContainer().catch(() => undefined);
  if (contained !== undefined) {
    stops.push(() => contained.stop());
    return contained.url;
  }
  const why = 'no Redis: TEST_REDIS_URL is not set, redis-server is not on the PATH, and Docker cannot be used';
  if (process.env.CI === 'true') throw new Error(why);
  console.error(`\n*** ${why}. EVERYTHING ON REDIS IS SKIPPED. ***\n`);
  return undefined;
}

/** The image that the cluster uses. */
async function redisContainer(): Promise<{ url: string; stop(): Promise<void> }> {
  const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const image = /image: (redis:\S+)/.exec(compose)?.[1];
  if (image === undefined) throw new Error('docker-compose.yml names no image of Redis');
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'; // the teardown stops what was started
  const { GenericContainer } = await import('testcontainers');
  const command = ['redis-server', '--bind', '0.0.0.0', '--protected-mode', 'no', '--save', ''];
  const container = await new GenericContainer(image).withExposedPorts(6379).withCommand(command).start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    stop: async () => {
      await container.stop();
    },
  };
}
