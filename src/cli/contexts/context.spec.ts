import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { json, testServer, type Handler, type TestServer } from '../testing/server.js';
import { breakLock, changeContexts } from './file.js';

const health: Handler = (_request, response) =>
  json(response, { status: 'ok', version: '1', uptime_sec: 1, cities_total: 0, cities_running: 0, startup: { ready: true } });
const home = mkdtempSync(join(tmpdir(), 'svc-context-'));
const keyFile = join(home, 'key');
let work: TestServer;
let other: TestServer;

async function svc(args: readonly string[], env: Record<string, string> = {}): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ env: { HOME: home, ...env }, cwd: home });
  const code = await runCli(args, io);
  return { code, stdout: io.stdout, stderr: io.stderr };
}
const asked = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> =>
  /address: +(.*)/.exec((await svc(['health', ...args], env)).stdout)?.[1] ?? 'none';

beforeAll(async () => {
  const beads: Handler = (_request, response) => json(response, { items: [], total: 0 });
  work = await testServer({ '/health': health, '/v0/city/alpha/beads': beads });
  other = await testServer({ '/health': health });
  writeFileSync(keyFile, 'svc_secret\n');
});
afterAll(() => Promise.all([work.close(), other.close()]));

it('keeps services under names, in a file that only its owner reads', async () => {
  expect((await svc(['context', 'show'])).code).toBe(3);
  expect((await svc(['context', 'set', 'work', '--server', work.url, '--key-file', 'key', '--city', 'alpha'])).stdout).toBe(
    'work is set\n',
  );
  expect((await svc(['context', 'set', 'other', '--server', other.url])).code).toBe(0);
  const file = join(home, '.config/svc/contexts.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
  expect((await svc(['context', 'list', '-o', 'name'])).stdout).toBe('other\nwork\n');
  expect((await svc(['context', 'show'])).stdout).toContain(`key file:  ${keyFile}\n`);
});

it('is what counts behind flags and the environment, with its city and its key', async () => {
  expect(await asked([])).toBe(`${work.url}, from context work`);
  expect(await asked(['--context', 'other'])).toBe(`${other.url}, from context other`);
  expect(await asked([], { SVC_CONTEXT: 'other' })).toBe(`${other.url}, from context other`);
  expect(await asked([], { SVC_API_URL: other.url })).toBe(`${other.url}, from SVC_API_URL`);
  expect(await asked(['--api', other.url], { SVC_CONTEXT: 'work' })).toBe(`${other.url}, from --api`);
  expect(other.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  expect((await svc(['bead', 'list'])).code).toBe(0);
  expect(work.requests.at(-1)).toMatchObject({
    line: expect.stringContaining('/v0/city/alpha/beads'),
    headers: { authorization: 'Bearer svc_secret' },
  });
  // Its city is one of its service: with another address it means nothing.
  expect((await svc(['bead', 'list', '--api', other.url])).stderr).toContain('which city?');
});

it('is used, changed and forgotten', async () => {
  expect((await svc(['context', 'use', 'other'])).code).toBe(0);
  expect(await asked([])).toContain(other.url);
  expect((await svc(['context', 'set', 'work', '--no-city'])).code).toBe(0);
  expect((await svc(['context', 'show', 'work'])).stdout).not.toContain('alpha');
  expect((await svc(['context', 'delete', 'other'])).code).toBe(0);
  expect(await asked([], { SVC_PORT: new URL(work.url).port })).toContain('the default');
  expect((await svc(['context', 'use', 'other'])).code).toBe(3);
  expect((await svc(['health', '--context', 'gone'])).stderr).toContain('there is no context gone');
});

it('takes several replicas, and nothing that no command can use', async () => {
  const gone = await testServer({});
  await gone.close();
  expect((await svc(['context', 'set', 'both', '--server', `${gone.url}, ${work.url}`])).code).toBe(0);
  const { code, stdout } = await svc(['health', '--context', 'both']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('from context both')]);
  const bad = await svc(['context', 'set', 'both', '--server', `${work.url},nowhere`]);
  expect([bad.code, bad.stderr]).toEqual([2, 'svc context set: --server does not give an http or https address: nowhere\n']);
});

it('takes what was typed before it as well, and leaves out nothing without a word', async () => {
  expect((await svc(['--key-file', 'key', 'context', 'set', 'keyed', '--server', work.url])).code).toBe(0);
  expect((await svc(['context', 'show', 'keyed'])).stdout).toContain(`key file:  ${keyFile}\n`);
  const refused = await svc(['--api', work.url, 'context', 'set', 'keyed']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('give the context its address with --server')]);
  const other = await svc(['--context', 'keyed', 'context', 'set', 'other', '--city', 'alpha']);
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('changes what it names, other')]);
});

describe('a change of contexts', () => {
  let own: string;
  let file: string;
  let lock: string;
  let io: FakeIo;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    own = mkdtempSync(join(tmpdir(), 'svc-context-'));
    file = join(own, 'svc/contexts.json');
    lock = `${file}.lock`;
    mkdirSync(join(own, 'svc'));
    io = fakeIo({ env: { XDG_CONFIG_HOME: own }, cwd: own });
  });
  afterEach(() => {
    jest.useRealTimers();
    rmSync(own, { recursive: true });
  });

  const set = (): Promise<number> => runCli(['context', 'set', 'mine', '--server', work.url], io);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  /** A command that has found the lock taken. */
  const waiting = async (): Promise<{ setting: Promise<number> }> => {
    writeFileSync(lock, '');
    const setting = set();
    while (jest.getTimerCount() === 0 && io.stdout === '') await turn();
    return { setting };
  };
  const kept = (): string[] => readdirSync(join(own, 'svc'));

  it('changes what another client has left, once that has', async () => {
    const { setting } = await waiting();
    writeFileSync(file, JSON.stringify({ contexts: { theirs: { server: other.url } } }));
    rmSync(lock);
    await jest.advanceTimersByTimeAsync(20);
    expect(await setting).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      current: 'mine',
      contexts: { theirs: { server: other.url }, mine: { server: work.url } },
    });
    expect(kept()).toEqual(['contexts.json']);
  });

  it.each([
    ['an hour old', -3_600],
    ['an hour ahead', 3_600],
  ])('breaks a lock that was left, %s', async (_when, seconds) => {
    const { setting } = await waiting();
    const at = Date.now() / 1_000 + seconds;
    utimesSync(lock, at, at);
    await jest.advanceTimersByTimeAsync(40);
    expect(kept()).toEqual(['contexts.json']);
    expect(await setting).toBe(0);
  });

  it('gives back a lock that was taken since it was found to be left', () => {
    writeFileSync(lock, 'taken');
    breakLock(lock);
    expect([kept(), readFileSync(lock, 'utf8')]).toEqual([['contexts.json.lock'], 'taken']);
  });

  it('waits for others until Ctrl-C', async () => {
    const { setting } = await waiting();
    io.interrupt();
    await jest.advanceTimersByTimeAsync(20);
    rmSync(lock);
    await jest.advanceTimersByTimeAsync(20);
    expect([await setting, kept()]).toEqual([130, []]);
  });

  it('names the lock that is in its way for 10 s', async () => {
    const { setting } = await waiting();
    for (let second = 0; second <= 10; second++) {
      utimesSync(lock, Date.now() / 1_000, Date.now() / 1_000);
      await jest.advanceTimersByTimeAsync(1_000);
    }
    rmSync(lock);
    await jest.advanceTimersByTimeAsync(20);
    expect(await setting).toBe(2);
    expect(io.stderr).toContain(`if there is none, remove ${lock}`);
  });

  it('leaves nothing beside the file when it fails', async () => {
    const change = changeContexts(io, (before) => {
      mkdirSync(file);
      return before;
    });
    await expect(change).rejects.toMatchObject({ syscall: 'rename' });
    expect(kept()).toEqual(['contexts.json']);
  });
});

it.each([
  [['context', 'set', 'x'], 'nothing to set'],
  [['context', 'set', 'x', '--server', 'ftp://a'], 'does not give an http or https address'],
  [['context', 'set', 'x', '--server', 'http://svc_k@a'], 'put the key into --key-file'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await svc(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
