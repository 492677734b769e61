import { mkdtemp, mkdir, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { loadConfig } from '../../config/config.js';
import { Lifecycle } from '../../health/lifecycle.js';
import { AppLogger, createLogger } from '../../logging/logger.js';
import { OutgoingGuard } from '../../outgoing/outgoing-guard.js';
import { makeSocketFolder } from './socket-folder.js';
import { NetworkWalls } from './walls.js';

const RULES = { rules: [], api: undefined };
const before = process.env.TMPDIR;
let above: string;
const listens = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const one = connect(socket, () => resolve(true)).once('error', () => resolve(false));
    one.once('connect', () => one.destroy());
  });

beforeEach(async () => {
  above = await mkdtemp(path.join(tmpdir(), 'svc-walls-'));
});
afterEach(async () => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  await rm(above, { recursive: true });
});

it('a moment in which there is no room for sockets fails one start, and no other', async () => {
  const log = new AppLogger(createLogger('silent', {}));
  const lifecycle = new Lifecycle(log);
  const walls = new NetworkWalls(new OutgoingGuard(loadConfig({}, '/')), log, lifecycle);
  process.env.TMPDIR = path.join(above, 'later');
  await expect(walls.of({ city: 'port', session: 's-1' }, RULES)).rejects.toThrow('ENOENT');
  await mkdir(path.join(above, 'later'));
  expect(await walls.of({ city: 'port', session: 's-1' }, RULES)).toContain('later');
  await lifecycle.stop();
  expect(await readdir(path.join(above, 'later'))).toEqual([]);
});

it('what is no session has a way out for as long as the last of it runs', async () => {
  const lifecycle = new Lifecycle(new AppLogger(createLogger('silent', {})));
  const walls = new NetworkWalls(new OutgoingGuard(loadConfig({}, '/')), new AppLogger(createLogger('silent', {})), lifecycle);
  process.env.TMPDIR = above;
  const caller = { city: 'port', session: '@commands/1' };
  const first = await walls.during(caller, RULES, async (socket) => {
    await walls.during(caller, RULES, async (same) => expect(same).toBe(socket));
    expect(await listens(socket)).toBe(true);
    return socket;
  });
  expect(await listens(first)).toBe(false);
  const fails = walls.during(caller, RULES, async (socket) => {
    expect([socket === first, await listens(socket)]).toEqual([false, true]);
    throw new Error(socket);
  });
  const second = await fails.catch((error: unknown) => (error as Error).message);
  expect(await listens(second as string)).toBe(false);
  await lifecycle.stop();
});

it('a folder in which nobody can listen is not left', async () => {
  const long = path.join(above, 'x'.repeat(120));
  await mkdir(long);
  await expect(makeSocketFolder(long)).rejects.toThrow();
  expect(await readdir(long)).toEqual([]);
});
