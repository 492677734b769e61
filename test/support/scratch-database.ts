import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminAt, withDatabase, type TestDatabase } from './database.js';
import { startEmbedded } from '../../src/platform/embedded/embedded-postgres.js';

/** An empty database: on the server of `TEST_DATABASE_URL`, or on one that lives as long as the database. */
export async function scratchDatabase(): Promise<TestDatabase> {
  const given = process.env.TEST_DATABASE_URL;
  const own = given === undefined ? await throwAwayServer() : undefined;
  const server = own?.url ?? given!;
  const name = `svc_scratch_${process.pid}_${randomBytes(3).toString('hex')}`;
  await adminAt(server, `create database ${name} template template0`);
  return {
    url: withDatabase(server, name),
    drop: async () => {
      await adminAt(server, `drop database ${name} with (force)`);
      await own?.stop();
    },
  };
}

/** A PostgreSQL server that nothing survives of. */
export async function throwAwayServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const dir = await mkdtemp(join(await place(), 'svc-test-pg-'));
  await chmod(dir, 0o755); // as root the server runs as another user
  const server = await startEmbedded(dir, { durable: false, settings: { hba_file: await plainPasswords(dir) } });
  await cheapPassword(server.url);
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Passwords are sent as they are, over the loopback interface. Else both sides hash at each connection, which took a seventh of the
 * processor time in which a test's processes start and stop.
 */
async function plainPasswords(dir: string): Promise<string> {
  const file = join(dir, 'hba.conf');
  await writeFile(file, 'host all all 127.0.0.1/32 password\n', { mode: 0o644 });
  return file;
}

/** The server keeps it hashed 4,096 times; once is enough for one that holds nothing. */
async function cheapPassword(url: string): Promise<void> {
  const { username, password } = new URL(url);
  await adminAt(url, `set scram_iterations = 1; alter role ${username} password '${password}'`);
}

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 ** 31;

/**
 * In memory where there is room: a cloned database is 300 files, and a disk's file system took a third of the suite's time for them. It took a
 * twentieth of it for the files of cities.
 */
export async function place(): Promise<string> {
  const room = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return room >= ENOUGH_BYTES ? MEMORY : tmpdir();
}
