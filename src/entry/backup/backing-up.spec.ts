import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it, jest } from '@jest/globals';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { lockDirectory } from '../../platform/embedded/lock.js';
import { backUp } from './backing-up.js';

afterEach(removeFolders);

it.each([
  ['/nowhere/at/all/monday.tgz', 'cannot write /nowhere/at/all/monday.tgz: there is no directory: /nowhere/at/all'],
  ['/dev/null/monday.tgz', 'cannot write /dev/null/monday.tgz: this is no directory: /dev/null'],
])('says why it cannot write %s', async (file, message) => {
  await expect(backUp({} as AppConfig, file, false, () => undefined)).rejects.toThrow(message);
});

// Guard: it would be half of one, or what its server makes of that.
it('makes none of an embedded database that a restore has not put there as a whole', async () => {
  const dataDir = await folder('svc-backing-up-');
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '1\n');
  await writeFile(join(dataDir, 'restore-begun'), '');
  const config = { dataDir } as AppConfig;
  await expect(backUp(config, join(dataDir, 'monday.tgz'), false, () => undefined)).rejects.toThrow('a restore has not ended');
  expect(await readdir(dataDir)).toEqual(['postgres', 'restore-begun']);
});

// Guard: of two at once of a service that does not run, one starts the database and ends it under the other.
it('looks again where the database that another process has started is not there, or has ended, and whether a restore has begun', async () => {
  const dataDir = await folder('svc-backing-up-');
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '1\n');
  await writeFile(join(dataDir, 'postgres', 'password'), 'svc');
  const lock = await lockDirectory(dataDir);
  const told: string[] = [];
  const next = [
    // It has ended.
    () => writeFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), '1\n\n\n1\n'),
    () => writeFileSync(join(dataDir, 'restore-begun'), ''),
  ];
  const backup = backUp({ dataDir, citiesRoot: dataDir } as AppConfig, join(dataDir, 'monday.tgz'), false, (line) => {
    told.push(line);
    next.shift()?.();
  });
  await expect(backup).rejects.toThrow('a restore has not ended');
  await lock.release();
  expect(told).toEqual([expect.stringMatching(/ENOENT.*; trying again …$/), expect.stringMatching(/ECONNREFUSED.*; trying again …$/)]);
});

/** Of a database, as far as it goes: none of a service, whose server ends under the second who comes. */
function serve(socket: Socket, nth: number): void {
  const message = (type: string, text: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(length.length + text.length);
    return Buffer.concat([Buffer.from(type), length, Buffer.from(text)]);
  };
  const ready = message('Z', 'I');
  socket.on('error', () => undefined);
  socket.once('data', () => {
    socket.write(Buffer.concat([message('R', '\0\0\0\0'), ready]));
    socket.once('data', () => {
      if (nth === 2) socket.destroy();
      else socket.write(Buffer.concat([message('E', 'SERROR\0C42P01\0Mno such table\0\0'), ready]));
    });
  });
}

// Guard: a service that was restarted under a backup found that the backup had its directory, and stayed down.
it('leaves a service whose database ends under it the time to start again', async () => {
  const dataDir = await folder('svc-backing-up-');
  const data = join(dataDir, 'postgres', 'data');
  await mkdir(data, { recursive: true });
  await writeFile(join(data, 'PG_VERSION'), '1\n');
  await writeFile(join(dataDir, 'postgres', 'password'), 'svc');
  let came = 0;
  const server = createServer((socket) => serve(socket, ++came)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await writeFile(join(data, 'postmaster.pid'), `1\n\n\n${(server.address() as AddressInfo).port}\n`);
  const lock = await lockDirectory(dataDir);
  const waits: (number | undefined)[] = [];
  const { setTimeout } = globalThis;
  const told: string[] = [];
  const backup = backUp({ dataDir, citiesRoot: dataDir } as AppConfig, join(dataDir, 'monday.tgz'), false, (line) => {
    told.push(line);
    writeFileSync(join(dataDir, 'restore-begun'), '');
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
      waits.push(ms);
      return setTimeout(work, 0);
    }) as never);
  });
  try {
    await expect(backup).rejects.toThrow('a restore has not ended');
  } finally {
    jest.restoreAllMocks();
    await lock.release();
    server.close();
  }
  expect(told).toEqual([expect.stringMatching(/Connection terminated.*; trying again …$/)]);
  expect(waits).toContain(10_000);
});

// Guard: a name with several addresses has a reason for each of them and none of its own, so nothing was said.
it('says which database it does not get to', async () => {
  const entry = ['--import', '../../../scripts/typescript.mjs', '../backup.ts'].map((at) =>
    at.startsWith('.') ? fileURLToPath(new URL(at, import.meta.url)) : at,
  );
  const home = await folder('svc-backing-up-');
  const env = { PATH: process.env.PATH, SVC_DATA_DIR: home, SVC_DATABASE_URL: 'postgres://svc@127.0.0.1:1/svc' };
  const { status, stderr } = spawnSync(process.execPath, [...entry, 'backup', join(home, 'monday.tgz')], { env, encoding: 'utf8' });
  const said = 'svc backup: the database of SVC_DATABASE_URL cannot be used: connect ECONNREFUSED 127.0.0.1:1\n';
  expect([status, stderr]).toEqual([1, said]);
});
