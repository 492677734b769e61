import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { listProcesses } from '../runtime/process-table.js';
import { spawnAgent } from '../runtime/spawn.js';
import { OfAMoment } from './probe.js';
import { answered, Users } from './users.js';

const LIMITS = { memory: 1024 ** 3, processes: 64, files: 512 };
const { cities: CITIES, sessions: SESSIONS } = USER_NUMBERS;
/** Of a session and its city. */
const [PORT, QUAY] = [
  { user: SESSIONS.first + 11, group: CITIES.first + 1 },
  { user: SESSIONS.first + 12, group: CITIES.first + 2 },
];
/** Only root may start programs as somebody else. */
const isRoot = process.getuid?.() === 0;
const OWN = { home: '/own/home', tmp: '/own/tmp', insteadOf: '/root' };
let base: string;
let users: Users;

beforeAll(async () => {
  if (!isRoot) return;
  users = await Users.tryOn({ limits: LIMITS, users: USER_NUMBERS }, '/data/host.toml');
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-users-')));
  await chmod(base, 0o755);
  await writeFile(path.join(base, 'admin.key'), 'secret', { mode: 0o600 });
  for (const [name, id] of [
    ['port', PORT],
    ['quay', QUAY],
  ] as const) {
    await mkdir(path.join(base, name), { mode: 0o750 });
    await writeFile(path.join(base, name, 'file'), name);
    await chown(path.join(base, name), id.user, id.group);
  }
});
afterAll(() => (isRoot ? rm(base, { recursive: true }) : undefined));

async function said(line: string, env: Record<string, string> = {}, id = PORT, cwd = path.join(base, 'port')): Promise<string> {
  const spec = { command: 'sh', args: ['-c', line], cwd, env: { PATH: '/usr/bin:/bin', ...env } };
  const agent = await spawnAgent({ ...spec, sandbox: users.sandbox(id, OWN) });
  let text = '';
  agent.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await agent.closed;
  await agent.end({ hard: true });
  return text;
}

(isRoot ? describe : describe.skip)('programs as the user of their city (skipped: not root)', () => {
  // Guard: root would follow a link that an agent has put there since, and the program would begin where its user may not go.
  it('go into their directory as that user', async () => {
    const place = path.join(base, 'link');
    await symlink(path.join(base, 'port'), place);
    expect(await said('pwd; cat file; echo "${SVC_DIR_OF-none} ${OLDPWD-none}"', {}, PORT, place)).toBe(`${base}/port\nportnone none\n`);
    await mkdir(path.join(base, 'quay/open'), { mode: 0o755 });
    await writeFile(path.join(base, 'quay/open/file'), 'of quay', { mode: 0o644 });
    await rm(place);
    await symlink(path.join(base, 'quay/open'), place);
    expect(await said('echo begun; cat file', {}, PORT, place)).toBe('');
  });

  it('have its number, no groups and no capabilities', async () => {
    expect(await said('id -u; id -G; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | cut -f2')).toBe(
      `${PORT.user}\n${PORT.group}\n0000000000000000\n0000000000000000\n1\n`,
    );
    expect(await said('grep -E "^Max (processes|open files|core)" /proc/self/limits | tr -s " " | cut -d" " -f4,5 | tr "\\n" "/"')).toMatch(
      /64/,
    );
  });

  it('reach nothing of the service and of other cities', async () => {
    const files = `${base}/admin.key ${base}/quay/file /proc/${process.pid}/environ /etc/shadow`;
    expect(await said(`cat file ${files} 2>/dev/null; kill -0 ${process.pid} 2>/dev/null || echo refused`)).toBe('portrefused\n');
    const neighbour = spawn('sleep', ['600'], { uid: QUAY.user, gid: QUAY.group });
    try {
      expect(await said(`kill ${neighbour.pid} 2>/dev/null || echo refused; cat /proc/${neighbour.pid}/environ 2>/dev/null`)).toBe(
        'refused\n',
      );
    } finally {
      neighbour.kill('SIGKILL');
    }
  });

  it('gain nothing by a setuid program, and give nobody anything by one', async () => {
    expect(await said('cp /usr/bin/id mine && chmod 6755 mine && echo made')).toBe('made\n');
    const { uid, gid } = await stat(path.join(base, 'port/mine'));
    expect([uid, gid]).toEqual([PORT.user, PORT.group]);
    expect(await said('./mine -u', {}, PORT)).toBe(`${PORT.user}\n`);
    expect(await said('timeout 5 su -c id </dev/null 2>/dev/null || echo refused')).toBe('refused\n');
  });

  it('give what still runs as root none of their variables', async () => {
    const { env } = await users
      .sandbox(PORT, OWN)
      .enter({ command: 'sh', args: [], cwd: '/', env: { PATH: '/bin', LD_PRELOAD: '/evil.so', SVC_CITY: 'port' } });
    expect(env).toMatchObject({ SVC_CITY: 'port', SVC_OF_PATH: '/bin', SVC_OF_LD_PRELOAD: '/evil.so' });
    expect(Object.keys(env).filter((name) => !name.startsWith('SVC_'))).toEqual([]);
    expect(await said('echo "$n $Z ${SVC_OF_n-none} ${SVC__N-none}"', { n: 'a b', Z: '1' })).toBe('a b 1 none none\n');
    expect(await said('echo "$ODD ${SVC_OF_ODD-none}"', { ODD: `a'"$(id)` })).toBe(`a'"$(id) none\n`);
  });

  it('end with their session, whatever they have made of themselves', async () => {
    const pid = Number(await said('setsid env -i sleep 86397 >/dev/null 2>&1 </dev/null & echo $!').catch(() => '0'));
    expect(pid).toBeGreaterThan(0);
    const daemon = spawn('/usr/bin/setpriv', [`--reuid=${PORT.user}`, '--regid=0', '--clear-groups', 'env', '-i', 'sleep', '86396']);
    const ended = new Promise((resolve) => daemon.once('exit', (_code, signal) => resolve(signal)));
    const neighbour = spawn('sleep', ['600'], { uid: QUAY.user, gid: QUAY.group });
    try {
      await users.end(PORT.user);
      expect(await ended).toBe('SIGKILL');
      expect(neighbour.exitCode ?? neighbour.signalCode).toBeNull();
    } finally {
      neighbour.kill('SIGKILL');
    }
    expect(() => users.end(0)).toThrow('0 is no user of a session');
  });

  // Guard: a worker that was paused hears of the end of its session when another one has started that anew.
  it('outlive the end of an earlier start of their session, unless they only say that they are later', async () => {
    const markers = (generation: string) => ({ SVC_DEPLOYMENT: 'd', SVC_CITY: 'port', SVC_SESSION_ID: 'po-1', SVC_GENERATION: generation });
    const start = async (generation: string, line: string) => {
      const sandbox = users.sandbox(PORT, OWN);
      const env = { PATH: '/usr/bin:/bin', ...markers(generation) };
      return { sandbox, agent: await spawnAgent({ command: 'sh', args: ['-c', line], cwd: '/', env, sandbox }) };
    };
    // The first one has no parent any more, the second one has one that runs as its user.
    const forged = 'SVC_GENERATION=9 setsid sleep 86395 & setsid sh -c "SVC_GENERATION=9 sleep 86395; :" &';
    const first = await start('1', forged);
    await first.agent.exited;
    const left = async (): Promise<number> => (await listProcesses()).filter((entry) => entry.user?.() === PORT.user).length;
    await eventually(async () => (await left()) === 3);
    await first.sandbox.end!();
    expect(await left()).toBe(0);
    const second = await start('2', 'exec sleep 86394');
    try {
      await eventually(async () => (await left()) === 1);
      await first.sandbox.end!();
      expect([await left(), second.agent.hasExited]).toEqual([1, false]);
    } finally {
      await second.sandbox.end!();
    }
    expect(await left()).toBe(0);
  });

  // Guard: a start that never came to its program may hear late that it is over.
  it('outlive the end of an earlier start that has begun nothing', async () => {
    const start = (generation: string) => ({ deployment: 'd', city: 'port', session: 'po-1', generation });
    const env = { SVC_DEPLOYMENT: 'd', SVC_CITY: 'port', SVC_SESSION_ID: 'po-1', SVC_GENERATION: '2', PATH: '/usr/bin:/bin' };
    const sandbox = users.sandbox(PORT, OWN, start('2'));
    const agent = await spawnAgent({ command: 'sleep', args: ['86391'], cwd: '/', env, sandbox });
    try {
      await eventually(async () => (await listProcesses()).some((entry) => entry.user?.() === PORT.user));
      await users.sandbox(PORT, OWN, start('1')).end!();
      expect([agent.hasExited, await users.end(PORT.user, start('1'))]).toEqual([false, false]);
      expect(await users.end(PORT.user, start('2'))).toBe(true);
      await agent.exited;
    } finally {
      await sandbox.end!();
    }
  });

  it('end with their session also where another one of root takes over what has lost its parent', async () => {
    const line = 'SVC_GENERATION=9 setsid sleep 86392 >/dev/null 2>&1 &';
    const args = [`--reuid=${PORT.user}`, `--regid=${PORT.group}`, '--clear-groups', 'sh', '-c', line];
    const script = `import ctypes, subprocess, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(["setpriv", *${JSON.stringify(args)}])
time.sleep(60)`;
    const env = { ...process.env, SVC_DEPLOYMENT: 'd', SVC_CITY: 'port', SVC_SESSION_ID: 'po-1', SVC_GENERATION: '1' };
    const reaper = spawn('python3', ['-c', script], { env, stdio: 'ignore' });
    const isThere = await new Promise((resolve) => reaper.once('spawn', () => resolve(true)).once('error', () => resolve(false)));
    if (!isThere) return;
    const left = async (): Promise<number[]> =>
      (await listProcesses()).filter((entry) => entry.user?.() === PORT.user).map(({ parent }) => parent);
    try {
      await eventually(async () => (await left()).some((parent) => parent === reaper.pid));
      await users.end(PORT.user, { deployment: 'd', city: 'port', session: 'po-1', generation: '1' });
      expect(await left()).toEqual([]);
    } finally {
      reaper.kill('SIGKILL');
    }
  });

  it('are told by what they run as where they are lent to a city, and not by their variables', async () => {
    // Others of this host that are tested meanwhile begin with the first ones.
    const [lent, group] = [users.lentTo('services').at(-1)!, CITIES.first + CITIES.count - 2];
    const as = (uid: number, gid: number) => spawn('sleep', ['600'], { uid, gid });
    const ran = [as(lent, group), as(lent, group - 1), as(PORT.user, group)];
    try {
      expect((await users.runningFor(group)).map(({ pid }) => pid)).toEqual([ran[0]!.pid]);
    } finally {
      for (const each of ran) each.kill('SIGKILL');
    }
  });

  it('have numbers that are nobody elses, and no more of them than the operator has named', async () => {
    expect(users.identityOf(1, 11)).toEqual(PORT);
    expect(() => users.identityOf(1, SESSIONS.count)).toThrow(
      `[users] sessions of /data/host.toml has ${SESSIONS.count} numbers, which are used up`,
    );
    expect(() => users.identityOf(CITIES.count, 1)).toThrow(`[users] cities of /data/host.toml has ${CITIES.count} numbers`);
    const taken = { ...USER_NUMBERS, sessions: { first: 65_000, count: 1_000 } };
    await expect(Users.tryOn({ limits: LIMITS, users: taken }, 'host.toml')).rejects.toThrow(/sessions of host.toml has the number of \w+/);
    await expect(Users.tryOn({ limits: LIMITS, users: undefined }, 'host.toml')).rejects.toThrow('host.toml names no [users]');
  });

  // Guard: nobody's agents run without walls because the host was out of processes when a service began.
  it.each([
    ['Resource temporarily unavailable', true],
    ['Operation not permitted', false],
  ])('cannot be had, for a moment or for good, where the host says "%s"', async (says, passes) => {
    const setpriv = path.join(base, 'setpriv');
    await writeFile(setpriv, `#!/bin/sh\necho 'setpriv: setresuid failed: ${says}' >&2; exit 1\n`, { mode: 0o755 });
    const error: unknown = await Users.tryOn({ limits: LIMITS, users: USER_NUMBERS }, 'host.toml', setpriv).catch((e: unknown) => e);
    expect(error).toMatchObject({ message: `setpriv: setresuid failed: ${says}` });
    expect(error instanceof OfAMoment).toBe(passes);
  });

  it('are found also while others of the host begin with the same user', async () => {
    const other = async (): Promise<void> => {
      for (let n = 0; n < 3; n++) await users.end(users.lentTo('host')[0]!);
    };
    for (let n = 0; n < 6; n++) await Promise.all([Users.tryOn({ limits: LIMITS, users: USER_NUMBERS }, 'host.toml'), other()]);
  });

  it('are not started from where they cannot go', async () => {
    await mkdir(path.join(base, 'shut'), { mode: 0o700 });
    await writeFile(path.join(base, 'shut', 'agent'), '#!/bin/sh\n', { mode: 0o755 });
    const program = { command: path.join(base, 'shut', 'agent'), args: [], cwd: '/', env: {} };
    await expect(users.sandbox(PORT, OWN).enter(program)).rejects.toThrow(`${base}/shut is closed for them`);
  });
});

describe('what asks as a user', () => {
  // Guard: another process of the host that begins with the same user ends what runs as it.
  it.each([
    ['it', { signal: 'SIGKILL' }],
    ['a part of it', { code: 137, signal: null }],
  ])('asks again when somebody else has ended %s, and fails for everything else', async (_, end) => {
    const failing = (...ends: object[]) => {
      return async (): Promise<{ stdout: string }> => {
        const next = ends.shift();
        if (next !== undefined) throw Object.assign(new Error('it has ended'), next);
        return { stdout: 'here' };
      };
    };
    expect(await answered(failing(end, end))).toBe('here');
    await expect(answered(failing({ signal: 'SIGSEGV' }))).rejects.toThrow('it has ended');
  });
});
