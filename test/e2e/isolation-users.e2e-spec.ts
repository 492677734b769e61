import { execFileSync, spawn } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, svc } from '../support/cli.js';
import { eventually } from '../support/sse.js';
import { lookOften } from '../support/stack-timings.js';
import { isOfThisRun, USER_NUMBERS } from '../support/user-numbers.js';

/** What programs of a city reach of their host where users of the system are the walls. Only root can make them. */
const isRoot = process.getuid?.() === 0;
const { cities: CITIES, sessions: SESSIONS } = USER_NUMBERS;
const HOST = `[users]
cities = { first = ${CITIES.first}, count = ${CITIES.count} }
sessions = { first = ${SESSIONS.first}, count = ${SESSIONS.count} }
`;

let stack: Stack;
let data: string;
/** What the first session has found. */
let text: string;

async function ok(city: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: city } });
  expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, '']);
  return stdout;
}
const at = (...parts: string[]): string => join(stack.citiesRoot, ...parts);
const running = (args: string): string[] =>
  execFileSync('ps', ['-eo', 'uid,args'], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.endsWith(` ${args}`) && isOfThisRun(parseInt(line, 10)));

/** `try NAME COMMAND…`: what the command says on success, or `refused`. */
const SCRIPT = (neighbour: number): string => `#!/bin/bash
out="$SVC_CITY_PATH/found"
try() { local name=$1 said; shift; if said=$("$@" 2>/dev/null) && [ -n "$said" ]; then echo "$name=$said"; else echo "$name=refused"; fi >>"$out.part"; }
try key cat "${data}/admin.key"
try data ls "${data}"
try password cat "${data}/postgres/password"
try cities ls "${data}/cities"
try neighbour cat "${data}/cities/quay/secret"
try idle cat "${data}/cities/idle/secret"
try neighbour-link cat link/secret
try neighbour-list ls "${data}/cities/quay"
try environment bash -c 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep ^SVC_TEST'
try environment-of-worker cat /proc/${process.pid}/environ
try files-of-worker ls /proc/${process.pid}/fd
try signal bash -c 'kill -0 ${process.pid} && echo reached'
try signal-neighbour bash -c 'kill -0 ${neighbour} && echo reached'
try state bash -c 'echo x >.gc/evil && echo written'
try state-moved bash -c 'mv .gc aside && echo moved'
try settings bash -c 'echo x >>city.toml && echo written'
try settings-moved bash -c 'mv city.toml aside.toml && echo moved'
try ledger bash -c 'ls -A .gc/runtime/overlays && echo seen'
try ledger-moved bash -c 'mv .gc/runtime/overlays .gc/runtime/aside && echo moved'
try sessions ls -A .gc/sessions
try shadow cat /etc/shadow
try root bash -c 'setsid -w su -c id </dev/null'
try root-link bash -c 'ln "${data}/admin.key" hard && echo linked'
try settings-read bash -c 'grep -c . city.toml'
try user id -u
try group id -G
try setuid bash -c 'cp /usr/bin/id setuid && chmod 6755 setuid && echo made'
try home bash -c 'echo kept >"$HOME/note" && cat "$HOME/note"'
try tmp bash -c 'echo kept >"$TMPDIR/note" && cat "$TMPDIR/note"'
try write bash -c 'mkdir -p shared/deep && echo written >shared/deep/made && cat shared/deep/made'
try git bash -c 'git init -q shared/repo && git -C shared/repo rev-parse --is-inside-work-tree'
try client svc bead list
ln -s "${data}/admin.key" shared/planted
setsid env -i sleep 86398 >/dev/null 2>&1 </dev/null &
mv "$out.part" "$out"
while read -r _; do :; done
sleep 600
`;
const SECOND = `#!/bin/bash
cd "$SVC_CITY_PATH"
{ echo again >>shared/deep/made && rm -rf shared/repo && git -C shared init -q other && cat shared/deep/made; cat .gc/sessions/*/home/note; } >second.part 2>/dev/null
mv second.part second
sleep 600
`;

(isRoot ? describe : describe.skip)('programs of a city as users (skipped: only root can start programs as somebody else)', () => {
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'svc-users-'));
    await writeFile(join(data, 'host.toml'), HOST);
    for (const name of ['quay', 'idle']) await mkdir(join(data, 'cities', name), { recursive: true });
    await writeFile(join(data, 'cities/idle/secret'), 'of a city that nobody works in');
    await writeFile(join(data, 'cities/quay/secret'), 'of the neighbour');
    const config = { isolation: 'users', dataDir: data, citiesRoot: join(data, 'cities') } as const;
    stack = await startStack({ apis: 1, workers: 1, config });
    lookOften(stack);
    await ok('quay', 'city', 'create', 'quay', '--provider', 'loopback');
    await ok('port', 'city', 'create', 'port', '--provider', 'loopback');
    await writeFile(join(data, 'admin.key'), 'the key', { mode: 0o600 });
    await mkdir(join(data, 'postgres'));
    await writeFile(join(data, 'postgres/password'), 'the password', { mode: 0o600 });
    await symlink(at('quay'), at('port', 'link'));
    await writeFile(at('quay', 'guard.sh'), '#!/bin/bash\nsleep 86397 &\necho $! >part && mv part pid\nwait\n');
    await chmod(at('quay', 'guard.sh'), 0o755);
    await ok('quay', 'provider', 'create', 'guard', '--command', './guard.sh', '--prompt-mode', 'none', '--ready-delay', '50ms');
    await ok('quay', 'agent', 'create', 'guard', '--provider', 'guard', '--prompt', 'Rest.');
    await ok('quay', 'session', 'create', 'guard');
    const neighbour = await eventually(() => readFile(at('quay', 'pid'), 'utf8').catch(() => undefined));
    for (const [name, text] of [
      ['try.sh', SCRIPT(Number(neighbour))],
      ['second.sh', SECOND],
    ] as const) {
      await writeFile(at('port', name), text);
      await chmod(at('port', name), 0o755);
    }
    for (const name of ['try', 'second']) {
      await ok('port', 'provider', 'create', name, '--command', `./${name}.sh`, '--prompt-mode', 'none', '--ready-delay', '50ms');
      await ok('port', 'agent', 'create', `${name}er`, '--provider', name, '--prompt', 'Look around.');
    }
    await ok('port', 'session', 'create', 'tryer');
    text = await eventually(() => readFile(at('port', 'found'), 'utf8').catch(() => undefined));
  });
  afterAll(async () => {
    killSvc();
    await stack?.stop();
    if (data !== undefined) await rm(data, { recursive: true, force: true });
  });

  it('have their city, and reach nothing of the service and of other cities', async () => {
    const found = Object.fromEntries(
      text
        .trim()
        .split(/\n(?=[\w-]+=)/)
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    const { user, group, setuid, home, tmp, write, git, client, 'settings-read': settings, ...refused } = found;
    expect(Object.fromEntries(Object.entries(refused).filter(([, said]) => said !== 'refused'))).toEqual({});
    expect(Object.keys(refused)).toHaveLength(23);
    expect({ setuid, home, tmp, write, git }).toEqual({ setuid: 'made', home: 'kept', tmp: 'kept', write: 'written', git: 'true' });
    const within = ({ first, count }: { first: number; count: number }, n: string) => Number(n) >= first && Number(n) < first + count;
    expect([within(SESSIONS, user!), within(CITIES, group!)]).toEqual([true, true]);
    expect(Number(settings)).toBeGreaterThan(0);
    expect(client).toMatch(/./);
    const { uid, gid } = await stat(at('port', 'setuid'));
    expect([uid, gid]).toEqual([Number(user), Number(group)]);
  });

  it('work on each other’s files, and stay out of each other’s homes', async () => {
    await ok('port', 'session', 'create', 'seconder');
    expect(await eventually(() => readFile(at('port', 'second'), 'utf8').catch(() => undefined))).toBe('written\nagain\n');
    const users = new Set(running('sleep 600').map((line) => line.split(' ')[0]));
    expect(users.size).toBeGreaterThan(0);
    expect((await stat(at('port', 'shared/deep/made'))).uid).not.toBe((await stat(at('port', 'second'))).uid);
  });

  it('leave their city to the service, which follows no link that they leave', async () => {
    await ok('port', 'agent', 'create', 'later', '--provider', 'loopback', '--prompt', 'Come later.');
    await ok('port', 'session', 'create', 'later');
    expect((await lstat(join(data, 'admin.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(data, 'admin.key'))).uid).toBe(0);
  });

  it('end with their session, whatever they have made of themselves', async () => {
    await eventually(() => running('sleep 86398').length === 1);
    const list = await ok('port', 'session', 'list', '--template', 'tryer', '--json');
    await ok('port', 'session', 'close', (JSON.parse(list.trim().split('\n')[0]!) as { id: string }).id);
    await eventually(() => running('sleep 86398').length === 0);
    expect(running('sleep 86397')).toHaveLength(1);
  });

  it('leave nothing behind when their worker is killed: the next one ends what runs as a user that no session needs', async () => {
    const number = (user: number): string[] => [`--reuid=${user}`, '--clear-groups', 'env', '-i', 'sh', '-c', 'setsid sleep 86396 & wait'];
    const [mine] = running('sleep 86397');
    const stray = spawn('setpriv', number(SESSIONS.first + 20), { stdio: 'ignore' });
    // Of nobody here: numbers of others are none of ours.
    const other = spawn('setpriv', number(SESSIONS.first - 1), { stdio: 'ignore' });
    try {
      await eventually(() => running('sleep 86396').length === 2);
      await stack.add('worker');
      await eventually(() => running('sleep 86396').length === 1);
      expect(running('sleep 86396')).toEqual([`${SESSIONS.first - 1} sleep 86396`]);
      expect(running('sleep 86397')).toEqual([mine]);
    } finally {
      stray.kill('SIGKILL');
      other.kill('SIGKILL');
      execFileSync('pkill', ['-9', '-U', String(SESSIONS.first - 1)]);
    }
  });

  // Guard: a command of a city is a user of nobody else, in the group of its city.
  it('run commands of orders as a user of their own, who is gone with them', async () => {
    const command = [
      `cat "${data}/admin.key" || echo no key`,
      'cat ../quay/secret || echo no neighbour',
      'echo x >>city.toml || echo no settings',
      'echo x >.gc/evil || echo no state',
      'echo made >made-by-order && cat made-by-order',
      'echo kept >"$HOME/note" && cat "$HOME/note"',
      'setsid env -i sleep 86395 >/dev/null 2>&1 </dev/null & id -u; id -G',
    ].join('; ');
    await mkdir(at('port', 'orders'), { recursive: true });
    await writeFile(at('port', 'orders/try.toml'), `[order]\ntrigger = "manual"\nexec = ${JSON.stringify(command)}\n`);
    await ok('port', 'config', 'reload');
    const said = await eventually(() => ok('port', 'order', 'run', 'try', '--wait').catch(() => undefined));
    const found = said
      .trim()
      .split('\n')
      .filter((line) => !line.includes(': '));
    const [user, group] = found.splice(6, 2).map(Number) as [number, number];
    expect(found).toEqual(['no key', 'no neighbour', 'no settings', 'no state', 'made', 'kept']);
    expect([user >= SESSIONS.first + 52 && user < SESSIONS.first + SESSIONS.count, group]).toEqual([true, (await stat(at('port'))).gid]);
    expect((await stat(at('port', 'made-by-order'))).uid).toBe(user);
    expect(running('sleep 86395')).toEqual([]);
  });

  it('are shown as users', async () => {
    expect(await ok('port', 'runner', 'list')).toMatch(/ISOLATION.*\n.* users /);
  });
});
