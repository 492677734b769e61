import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readlink, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { svc } from '../support/cli.js';
import { DEEP } from '../support/depth.js';
import { folder, removeFolders } from '../support/folders.js';
import { api } from '../support/http.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** A data directory that a first start has made, with what that looked like: to make one takes longer than all else here. */
let made: string;
let first: { health: number; running: boolean; secret: number; runsOn: boolean; said: string };
let dir: string;
let started: SupervisorProcess[];

const start = (dataDir: string, as?: { uid: number; gid: number }): SupervisorProcess => {
  const one = spawnSupervisor({ SVC_DATA_DIR: dataDir }, as);
  started.push(one);
  return one;
};

/** The server of a data directory, by its own pid file; undefined when it has none. */
function serverPid(dataDir: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return undefined;
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // An orphan that has ended stays in the table until the machine's first process collects it.
    return !existsSync(`/proc/${pid}`) || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function stop(one: SupervisorProcess): Promise<void> {
  one.child.kill('SIGINT');
  expect(await one.exited).toEqual({ code: 0, signal: null });
}

describe('embedded mode', () => {
  beforeAll(async () => {
    made = await mkdtemp(join(tmpdir(), 'svc-embedded-made-'));
    await chmod(made, 0o755);
    const one = spawnSupervisor({ SVC_DATA_DIR: made });
    try {
      const { status: health } = await api(await one.ready()).get('/health');
      const pid = serverPid(made)!;
      const [running, secret] = [alive(pid), statSync(join(made, 'postgres', 'password')).mode & 0o777];
      await stop(one);
      first = { health, running, secret, runsOn: alive(pid), said: one.output() };
    } finally {
      one.child.kill('SIGKILL');
    }
  });
  afterAll(async () => {
    await rm(made, { recursive: true, force: true });
    await removeFolders();
  });
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-embedded-'));
    execFileSync('cp', ['-a', `${made}/.`, dir]);
    started = [];
  });
  afterEach(async () => {
    for (const one of started) one.child.kill('SIGKILL');
    await Promise.all(started.map((one) => one.exited));
    const far = await readlink(join(dir, 'postgres')).catch(() => undefined);
    const pid = serverPid(dir);
    if (pid !== undefined && alive(pid)) process.kill(pid, 'SIGQUIT');
    if (far !== undefined) await rm(far, { recursive: true, force: true });
    await rm(dir, { recursive: true, force: true });
  });

  // A start takes two seconds of a processor: each of these sees as much of a life as it can.
  it('starts again over a pid file and a lock whose numbers others have, keeps its directory to itself, and stops at Ctrl-C', async () => {
    expect(first).toMatchObject({ running: true, secret: 0o600, runsOn: false, said: expect.stringContaining('making the database') });
    expect(first.health).toBeLessThan(500);
    const stranger = String(process.pid);
    writeFileSync(join(dir, 'postgres', 'data', 'postmaster.pid'), `${stranger}\n${dir}/postgres/data\n0\n5432\n\n127.0.0.1\n`);
    writeFileSync(join(dir, 'supervisor.lock'), JSON.stringify({ pid: process.pid, birth: 'another life' }));

    const second = start(dir);
    const url = await second.ready();
    expect(second.output()).not.toContain('making the database');
    expect(second.output()).not.toContain('could not enter');
    expect((await api(url).get('/metrics')).text).toMatch(/^svc_disk_free_bytes\{place="database"\} \d/m);

    const intruder = start(dir);
    expect((await intruder.exited).code).toBe(1);
    expect(intruder.output()).toContain(`another supervisor (process ${second.child.pid}) is running on ${dir}`);
    expect((await api(url).get('/health')).status).toBeLessThan(500);

    // As it arrives under npm.
    second.child.kill('SIGINT');
    second.child.kill('SIGINT');
    expect(await second.exited).toEqual({ code: 0, signal: null });
    expect(serverPid(dir)).toBeUndefined();
  });

  it('recovers from SIGKILL with its data, and the client of its directory finds it, whatever its port, as long as it runs', async () => {
    const cwd = await realpath(await folder('svc-embedded-cwd-'));
    await symlink(dir, join(cwd, '.svc'));
    const file = join(cwd, '.svc', 'server.json');
    const asked = () => svc(['health'], { cwd, env: { SVC_PORT: '1' } });
    const nobody = { code: 5, stdout: '', stderr: expect.stringContaining('the default; no server runs in this directory') };

    expect(await asked()).toMatchObject(nobody);
    const first = start(dir);
    const url = await first.ready();
    expect((await asked()).stdout).toContain(`${url}, found in ${file}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const orphan = serverPid(dir)!;
    first.child.kill('SIGKILL');
    await first.exited;
    expect(alive(orphan)).toBe(true);
    expect(existsSync(file)).toBe(true);
    expect(await asked()).toMatchObject(nobody);

    const second = start(dir);
    const moved = await second.ready();
    expect(alive(orphan)).toBe(false);
    expect(second.output()).not.toContain('making the database');
    expect((await asked()).stdout).toContain(`${moved}, found in ${file}\n`);
    await stop(second);
    expect(existsSync(file)).toBe(false);
    expect(await asked()).toMatchObject(nobody);
  });

  (DEEP && isRoot ? it : it.skip)('runs as root on a data directory that the account of the server may not enter', async () => {
    // What was made while the directory was open moves along.
    await chmod(dir, 0o700);
    for (let i = 0; i < 2; i++) {
      const closed = start(dir);
      await closed.ready();
      expect(closed.output()).not.toContain('making the database');
      const far = await readlink(join(dir, 'postgres'));
      expect(closed.output()).toMatch(new RegExp(`the database of ${dir} is in ${far}: .* could not enter ${dir}`));
      expect(statSync(join(far, 'data')).uid).not.toBe(0);
      await stop(closed);
    }
    await rm(await readlink(join(dir, 'postgres')), { recursive: true });
    const robbed = start(dir);
    expect((await robbed.exited).code).toBe(1);
    expect(robbed.output()).toContain('which is gone');
  });

  const readable =
    DEEP && isRoot && spawnSync('/bin/sh', ['-c', `test -r ${process.execPath}`], { uid: NOBODY, gid: NOBODY, cwd: '/' }).status === 0;
  (readable ? it : it.skip)('runs as an ordinary user', async () => {
    // Not a copy: what root has made has another owner.
    const own = join(dir, 'own');
    await mkdir(own, { mode: 0o700 });
    await chown(own, NOBODY, NOBODY);
    const first = start(own, { uid: NOBODY, gid: NOBODY });
    await first.ready();
    expect(statSync(join(own, 'postgres', 'data')).uid).toBe(NOBODY);
    await stop(first);
  });
});
