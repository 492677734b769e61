import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
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
  const dir = await mkdtemp(join(tmpdir(), 'svc-test-pg-'));
  await chmod(dir, 0o755); // as root the server runs as another user
  const server = await startEmbedded(dir, { durable: false });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
