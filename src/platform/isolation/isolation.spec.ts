import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { USER_NUMBERS, USERS_OF_HOST } from '../../../test/support/user-numbers.js';
import { AppConfig, loadConfig, type Config } from '../config/config.js';
import type { AppLogger } from '../logging/logger.js';
import { Bubblewrap } from './bubblewrap.js';
import { Isolation } from './isolation.js';
import type { Mount } from './mounts.js';
import { OfAMoment } from './probe.js';
import { Users } from './users.js';
import { isolationOf } from './testing/isolation.js';

/** A process that only answers requests. */
const API = { SVC_ROLE: 'api', SVC_DATABASE_URL: 'postgres://localhost/svc', SVC_REDIS_URL: 'redis://localhost' };

let data: string;
beforeEach(async () => {
  data = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-isolation-')));
});
afterEach(() => rm(data, { recursive: true }));

describe('isolation that the operator asks for', () => {
  it('is had, or keeps the process from starting', async () => {
    const why = process.getuid?.() === 0 ? `${data}/host.toml names no [users] with the numbers for it` : '';
    await expect(isolationOf(data, 'users').onApplicationBootstrap()).rejects.toThrow(
      `SVC_RUNNER_ISOLATION=users cannot be had on this host: ${why}`,
    );
    expect((await isolationOf(data, 'none').found()).kind).toBe('none');
  });

  // Guard: nobody's agents run without walls for as long as a process lives because its host was out of something when that began.
  it.each([
    ['bubblewrap', 'which says so', new OfAMoment('bwrap: fork: Resource temporarily unavailable'), 'users or none'],
    ['bubblewrap', 'which cannot be started', Object.assign(new Error('spawn EAGAIN'), { code: 'EAGAIN' }), 'users or none'],
    ['users', 'as whom nothing can be started', Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' }), 'none'],
  ])('keeps the process from starting where the host is out of something just now (%s, %s)', async (kind, _, short, left) => {
    const refused = new Error('No permissions to create new namespace');
    const all = [
      jest.spyOn(Bubblewrap, 'tryOn').mockRejectedValue(kind === 'bubblewrap' ? short : refused),
      jest.spyOn(Users, 'tryOn').mockRejectedValue(kind === 'users' ? short : refused),
    ];
    try {
      await expect(isolationOf(data, 'auto').onApplicationBootstrap()).rejects.toThrow(
        `which isolation this host allows cannot be found out just now: ${short.message}`,
      );
      await expect(isolationOf(data, 'auto').found()).rejects.toThrow(
        new RegExp(`raise \\[runner\\.limits\\] processes of ${data}/host\\.toml, or say SVC_RUNNER_ISOLATION=${left}$`),
      );
    } finally {
      for (const one of all) one.mockRestore();
    }
  });

  // Guard: who only answers requests does so, and isolates git once that can be had.
  it('keeps no process from starting for a moment that only answers requests, and runs nothing without it', async () => {
    const tried = jest.spyOn(Bubblewrap, 'tryOn').mockRejectedValue(new OfAMoment('bwrap: fork: Resource temporarily unavailable'));
    try {
      const isolation = isolationOf(data, 'bubblewrap', API);
      await isolation.onApplicationBootstrap();
      await expect(isolation.sandbox([])).rejects.toThrow('cannot be found out just now');
      tried.mockRejectedValue(new Error('No permissions to create new namespace'));
      await expect(isolation.sandbox([])).rejects.toThrow('SVC_RUNNER_ISOLATION=bubblewrap cannot be had on this host');
    } finally {
      tried.mockRestore();
    }
  });

  // Guard: whoever reads its log knows that git can do what this service can.
  it('is told of once it is found, also by a process that was short of something at its start', async () => {
    const tried = jest.spyOn(Bubblewrap, 'tryOn').mockRejectedValue(new OfAMoment('bwrap: fork: Resource temporarily unavailable'));
    const told: string[] = [];
    const log = { warn: (_: object, text: string) => told.push(text) } as unknown as AppLogger;
    try {
      const isolation = new Isolation(new AppConfig(loadConfig({ ...API, SVC_DATA_DIR: data }, '/') as Config), log);
      await isolation.onApplicationBootstrap();
      await expect(isolation.found()).rejects.toThrow(OfAMoment);
      tried.mockRejectedValue(new Error('No permissions to create new namespace'));
      jest.spyOn(Users, 'tryOn').mockRejectedValue(new Error('no numbers'));
      for (let n = 0; n < 2; n++) expect(await isolation.sandbox([])).toBeUndefined();
      expect(told).toEqual([
        'git is refused until this host says how it can be isolated',
        'git is NOT isolated: it can do what this service can',
      ]);
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('takes no numbers of the system, and none that mean nobody', async () => {
    for (const [first, count] of [
      [999, 10],
      [2 ** 31 - 1, 2],
      [1_000, 0],
    ]) {
      await writeFile(
        path.join(data, 'host.toml'),
        `[users]\ncities = { first = ${first}, count = ${count} }\nsessions = { first = 70000, count = 9 }\n`,
      );
      await expect(isolationOf(data, 'auto').found()).rejects.toThrow(/host\.toml: users\.cities/);
    }
  });
});

(process.getuid?.() === 0 ? describe : describe.skip)('a worker that starts where users are the walls (skipped: not root)', () => {
  it('ends what one that was killed has left of those that it had lent', async () => {
    await writeFile(path.join(data, 'host.toml'), USERS_OF_HOST);
    const { first, count } = USER_NUMBERS.sessions;
    const left = spawn('sleep', ['600'], { uid: first + count - 100, stdio: 'ignore' });
    const ended = once(left, 'exit', { signal: AbortSignal.timeout(20_000) });
    const isolation = isolationOf(data, 'users');
    try {
      await once(left, 'spawn');
      await isolation.onApplicationBootstrap();
      expect(await ended).toEqual([null, 'SIGKILL']);
    } finally {
      left.kill('SIGKILL');
      isolation.onApplicationShutdown();
    }
  });
});

describe('what was moved away at a start', () => {
  // Guard: an agent that goes on while it starts would fill the log.
  it('is told with its city and session, in some lines', async () => {
    const told: object[] = [];
    const log = { warn: (fields: object, text: string) => told.push({ ...fields, text }) } as unknown as AppLogger;
    const config = new AppConfig(loadConfig({ SVC_DATA_DIR: data }, '/') as Config);
    const isolation = new Isolation(config, log);
    if ((await isolation.found()).bubblewrap === undefined) return;
    const [home, host] = [path.join(data, 'home'), path.join(data, 'host')];
    await Promise.all([home, host].map((at) => mkdir(at)));
    const names = Array.from({ length: 12 }, (_, n) => `tools-${n}`);
    await Promise.all(names.map((name) => symlink('/', path.join(home, name))));
    const shown = names.map((name): Mount => ({ at: `/home/${name}`, from: host, mode: 'read' }));
    const whose = { city: 'port', session: 'po-1' };
    const sandbox = await isolation.sandbox([{ at: '/home', from: home, mode: 'write', isOwn: true }, ...shown], undefined, whose);
    await sandbox!.enter({ command: '/bin/true', args: [], cwd: '/', env: {} });
    const away = expect.stringContaining('.away-');
    expect(told).toHaveLength(10);
    expect(told[0]).toMatchObject({ ...whose, path: path.join(home, 'tools-0'), away, text: expect.stringMatching(/moved away$/) });
    expect(told[9]).toMatchObject({ text: expect.stringMatching(/no more is told of it$/) });
    expect((await readdir(home)).filter((name) => name.includes('.away-'))).toHaveLength(12);
  });
});
