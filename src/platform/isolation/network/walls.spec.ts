import { mkdtemp, mkdir, readdir, rm } from 'node:fs/promises';
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

it('a folder in which nobody can listen is not left', async () => {
  const long = path.join(above, 'x'.repeat(120));
  await mkdir(long);
  await expect(makeSocketFolder(long)).rejects.toThrow();
  expect(await readdir(long)).toEqual([]);
});
