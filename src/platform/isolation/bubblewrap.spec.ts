import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnAgent, type AgentProcess } from '../runtime/spawn.js';
import { Bubblewrap } from './bubblewrap.js';
import { identityOf } from './held.js';
import { hostFileFault, readHostFile } from './host-file.js';
import type { Mount } from './mounts.js';
import { OfAMoment } from './probe.js';

const LIMITS = { memory: 1024 ** 3, processes: 4_096, files: 1_024 };
const shared = await mkdtemp(path.join(tmpdir(), 'svc-isolation-'));
const bubblewrap = await Bubblewrap.tryOn(LIMITS, shared).catch(() => undefined);
const env = { PATH: '/usr/bin:/bin', SVC_CITY: 'port', LD_PRELOAD: '/city/evil.so', 'not-a-name': 'x', TOKEN: 'a secret' };
let root: string;
const running: AgentProcess[] = [];

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-wall-')));
  await mkdir(path.join(root, 'own'));
});

afterAll(() => rm(shared, { recursive: true }));

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.end({ hard: true })));
  await rm(root, { recursive: true, force: true });
});

const own = (): Mount => ({ at: path.join(root, 'own'), mode: 'write' });

async function run(line: string, mounts = [own()], more: Readonly<Record<string, string>> = {}) {
  const sandbox = bubblewrap!.sandbox(mounts, 'name it');
  const { LD_PRELOAD: _, ...rest } = env;
  const agent = await spawnAgent({ command: 'sh', args: ['-c', line], cwd: path.join(root, 'own'), env: { ...rest, ...more }, sandbox });
  running.push(agent);
  let text = '';
  agent.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { agent, text: () => text };
}

async function output(line: string, mounts?: Mount[], more?: Readonly<Record<string, string>>): Promise<string> {
  const { agent, text } = await run(line, mounts, more);
  await agent.closed;
  return text();
}

describe('a sandbox without a network', () => {
  /** Does without the namespaces: runs what comes after the options, unless it is to say something of a network. */
  const FAKE = '#!/bin/sh\ncase "$*" in *--unshare-net*) . "${0%/*}/says";; esac\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';

  it.each([
    ['true', 'is made', true],
    ['echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1', 'is none where the host allows none', false],
    [
      'echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1',
      'is not to be had for a moment',
      undefined,
    ],
    [
      'echo "bwrap: Creating new namespace failed: No space left on device" >&2; exit 1',
      'is not to be had while all are used up',
      undefined,
    ],
    [
      'echo "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)" >&2; exit 1',
      'is not to be had while bubblewrap says that all are used up',
      undefined,
    ],
    ['kill -9 $$', 'is not to be had where nobody says why', undefined],
  ])('%s: it %s', async (says, _, expected) => {
    await writeFile(path.join(root, 'bwrap'), FAKE, { mode: 0o755 });
    await writeFile(path.join(root, 'says'), says);
    const fake = await Bubblewrap.tryOn(LIMITS, shared, path.join(root, 'bwrap'));
    const look = fake.noNetwork().then((made) => made !== undefined);
    if (expected === undefined) await expect(look).rejects.toThrow();
    else expect(await look).toBe(expected);
    await writeFile(path.join(root, 'says'), 'true');
    expect((await fake.noNetwork()) !== undefined).toBe(expected !== false);
  });
});

describe('a sandbox within another one', () => {
  /** A host that says this where one is made. */
  async function on(says: string): Promise<Bubblewrap> {
    const runs = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
    await writeFile(path.join(root, 'bwrap'), `#!/bin/sh\ncase "$*" in *"$0"*) ${says};; esac\n${runs}`, { mode: 0o755 });
    return Bubblewrap.tryOn(LIMITS, shared, path.join(root, 'bwrap'));
  }

  // Guard: a shortage of the moment at which a service starts has no program begin beside a running one without it.
  it('is refused by a host that says so, and by none that is out of something', async () => {
    expect((await on('echo "bwrap: No permissions to create new namespace" >&2; exit 1')).nests).toBe(false);
    const short = 'echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1';
    await expect(on(short)).rejects.toThrow(OfAMoment);
    expect((await on(`test -e "\${0%/*}/said" || { touch "\${0%/*}/said"; ${short}; }`)).nests).toBe(true);
  });
});

(process.getuid!() === 0 ? describe : describe.skip)('settings of the kernel', () => {
  /** A host that says this, as bubblewrap tells it, where they are to be covered. */
  async function on(says: string): Promise<Bubblewrap> {
    const runs = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
    await writeFile(path.join(root, 'bwrap'), `#!/bin/sh\ncase "$*" in */proc/sys*) ${says};; esac\n${runs}`, { mode: 0o755 });
    return Bubblewrap.tryOn(LIMITS, shared, path.join(root, 'bwrap'));
  }

  it('stay open, which is said, where the host does not let them be covered', async () => {
    const fake = await on(`echo "bwrap: Can't remount readonly on /newroot/proc/sys: Operation not permitted" >&2; exit 1`);
    expect(fake.leavesKernel).toBe(true);
    const { args } = await fake.sandbox([own()], '').enter({ command: '/bin/true', args: [], cwd: '/', env });
    expect(args).not.toContain('/proc/sys');
  });

  // Guard: a shortage of the moment at which a service starts leaves nothing open for as long as it runs.
  it.each([
    'echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1',
    `echo "bwrap: Can't bind mount /oldroot/proc/sys on /newroot/proc/sys: Cannot allocate memory" >&2; exit 1`,
  ])('stay open on no host that is out of something: %s', async (says) => {
    await expect(on(says)).rejects.toThrow(OfAMoment);
    const once = await on(`test -e "\${0%/*}/said" || { touch "\${0%/*}/said"; ${says}; }`);
    expect(once.leavesKernel).toBe(false);
  });
});

(bubblewrap === undefined ? describe.skip : describe)('a sandbox of bubblewrap', () => {
  it('gives nothing that a city says to what runs outside of it, and no value to those who list processes', async () => {
    const { args, env: outside } = await bubblewrap!
      .sandbox([own()], '')
      .enter({ command: '/bin/true', args: [], cwd: path.join(root, 'own'), env });
    expect(Object.keys(outside).filter((name) => !name.startsWith('SVC_'))).toEqual([]);
    expect(outside).toEqual({ SVC_CITY: 'port', SVC_OF_PATH: env.PATH, SVC_OF_LD_PRELOAD: env.LD_PRELOAD, SVC_OF_TOKEN: env.TOKEN });
    expect(await output('echo "$n $Z ${SVC_OF_n-none} ${SVC__N-none}"', [own()], { n: 'a b', Z: '1' })).toBe('a b 1 none none\n');
    expect(args.filter((arg) => arg.includes(env.TOKEN) || arg.includes(env.LD_PRELOAD))).toEqual([]);
  });

  // Guard: whatever a link leads to would be mounted, such as another city.
  it('begins nothing where a folder that was looked at has been replaced since', async () => {
    const place = path.join(root, "it's own");
    await mkdir(place);
    const looked = { at: place, mode: 'write', identity: await identityOf(place) } as const;
    expect(await output('echo begun', [own(), looked])).toBe('begun\n');
    await mkdir(path.join(root, 'other'));
    await rename(place, path.join(root, 'away'));
    await symlink(path.join(root, 'other'), place);
    const { agent, text } = await run('echo begun', [own(), looked]);
    expect([(await agent.exited).code, text()]).toEqual([126, '']);
    expect(agent.stderrTail()).toContain('replaced by another one');
    await expect(identityOf(place)).rejects.toThrow('is a link');
  });

  // Guard: one of them is a program that the host starts as root, for whatever dumps its core.
  (process.getuid!() === 0 && bubblewrap?.leavesKernel === false ? it : it.skip).each([false, true])(
    'writes no settings of the kernel as root, in another sandbox: %s',
    async (isNested) => {
      const line =
        '(: 3>>/proc/sys/kernel/core_pattern) 2>/dev/null && echo open; ' +
        String.raw`find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -print; test ! -e /sys; ls /proc/sys/net/ipv4/conf | grep -c .`;
      const sandbox = bubblewrap!.sandbox([own()], '');
      const program = { command: '/bin/sh', args: ['-c', line], cwd: '/', env: { PATH: '/usr/bin:/bin' } };
      if (isNested) await sandbox.enter(program);
      const { command, args, env: outside } = await sandbox.enter(program);
      expect(args.filter((arg) => arg === '--unshare-user').length).toBe(isNested && bubblewrap!.nests ? 2 : 1);
      expect((await promisify(execFile)(command, args, { cwd: '/', env: outside })).stdout).toMatch(/^\d+\n$/);
    },
  );

  it('has the part of /etc that programs need, with their own user', async () => {
    expect(
      await output('cat /etc/passwd | cut -d: -f3 | xargs; ls /etc/shadow /etc/sudoers /etc/ssh/sshd_config 2>&1 | grep -vc "No such"'),
    ).toBe(`${[...new Set([0, process.getuid!(), 65_534])].join(' ')}\n0\n`);
    expect(await output('whoami; test -s /etc/nsswitch.conf && test -d /etc/ssl/certs && echo there')).toMatch(/^\S+\nthere\n$/);
    expect((await readdir(shared)).length).toBe(1);
    await Bubblewrap.tryOn(LIMITS, shared);
    expect((await readdir(shared)).length).toBe(1);
  });

  (bubblewrap !== undefined && bubblewrap.limitsBy.processes !== 'none' ? it : it.skip)(
    'ends what makes more and more processes, and nothing else (skipped: no cgroups)',
    async () => {
      const few = await Bubblewrap.tryOn({ ...LIMITS, processes: 20 }, shared);
      const sandbox = few.sandbox([own()], '');
      // An ordinary user's own processes count as well.
      const line = process.getuid!() === 0 ? 'for n in $(seq 60); do sleep 600 & done; true' : 'true';
      const bomb = await spawnAgent({
        command: 'sh',
        args: ['-c', line],
        cwd: path.join(root, 'own'),
        env: { PATH: '/usr/bin:/bin' },
        sandbox,
      });
      running.push(bomb);
      const { code } = await bomb.exited;
      expect([process.getuid!(), code === 0]).toEqual([process.getuid!(), process.getuid!() !== 0]);
      expect(await output('for n in $(seq 60); do sleep 0 & done; wait; echo all')).toBe('all\n');
    },
  );

  it('gives variables as they are', async () => {
    const odd = `it's "$(id)" \`id\` \\ $HOME\n*`;
    expect(await output('printf "%s" "$ODD"', undefined, { ODD: odd })).toBe(odd);
    expect(await output('echo ${SVC_OF_TOKEN-none} $TOKEN')).toBe('none a secret\n');
  });

  it('tells a program that it is to end, waits for it, and knows how it ended', async () => {
    const { agent, text } = await run(`trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.05; done`);
    while (!text().includes('on')) await new Promise((resolve) => setTimeout(resolve, 5));
    process.kill(-agent.pid, 'SIGTERM');
    expect(await agent.exited).toEqual({ code: 3, signal: null });
    await agent.closed;
    expect(text()).toBe('on\nbye\n');
  });

  it('ends with its first program, whatever that has left', async () => {
    const left = `sleep 86398`;
    expect(await output(`setsid ${left} >/dev/null 2>&1 & echo begun`)).toBe('begun\n');
    const { agent, text } = await run('cat /proc/[0-9]*/cmdline | tr "\\0" " "');
    await agent.closed;
    expect(text()).not.toContain(left);
  });

  it('shows an inner mount over an outer one, and nothing where something is hidden', async () => {
    await Promise.all(['read/write', 'read/hidden'].map((at) => mkdir(path.join(root, 'own', at), { recursive: true })));
    await writeFile(path.join(root, 'own/read/hidden/secret'), 'x');
    const at = (name: string): string => path.join(root, 'own', name);
    const mounts: Mount[] = [
      { at: at('read/hidden'), mode: 'hidden' },
      { at: at('read/write'), mode: 'write' },
      { at: at('read'), mode: 'read' },
      own(),
    ];
    const tried = 'for at in . read read/write; do touch $at/x 2>/dev/null && echo $at; done; ls -A read/hidden';
    expect(await output(tried, mounts)).toBe('.\nread/write\n');
  });

  it('starts programs that are the same inside, and says of others where they lie', async () => {
    const program = path.join(root, 'tool');
    await writeFile(program, '#!/bin/sh\necho hello\n');
    await chmod(program, 0o755);
    await symlink(program, path.join(root, 'own/link'));
    const enter = (command: string, mounts: Mount[]) =>
      bubblewrap!
        .sandbox(mounts, 'name it')
        .enter({ command, args: [], cwd: path.join(root, 'own'), env })
        .then(
          () => 'starts',
          (error: Error) => error.message,
        );
    const nothing = expect.stringContaining('see nothing: name it');
    expect(await enter(program, [own()])).toEqual(nothing);
    expect(await enter('./link', [own()])).toEqual(nothing);
    expect(await enter(program, [own(), { at: program, mode: 'read', from: '/bin/true' }])).toEqual(nothing);
    expect(await enter('./link', [own(), { at: program, mode: 'read' }])).toBe('starts');
    // A folder that is reached by a link, and is shown at both places.
    await mkdir(path.join(root, 'tools'));
    await rename(program, path.join(root, 'tools/tool'));
    await symlink(path.join(root, 'tools'), path.join(root, 'named'));
    const tools = path.join(root, 'tools');
    const named: Mount = { at: path.join(root, 'named'), mode: 'read', from: tools };
    expect(await enter(path.join(root, 'named/tool'), [own(), named, { at: tools, mode: 'read' }])).toBe('starts');
    expect(await enter(path.join(root, 'named/tool'), [own(), named])).toEqual(nothing);
    await writeFile(path.join(root, 'own/a=b'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
    expect(await output('exec ./a=b')).toBe('ran\n');
    expect(await enter('sh', [own()])).toBe('starts');
    expect(await enter('no-such-program', [own()])).toBe('no-such-program is not a program that can be started here');
  });
});

describe('the file of a host', () => {
  const read = async (text: string): Promise<unknown> => {
    await writeFile(path.join(root, 'host.toml'), text);
    return readHostFile(path.join(root, 'host.toml')).catch((error: Error) => error.message.replace(root, ''));
  };

  it('says what programs see, and is not needed', async () => {
    expect(await readHostFile(path.join(root, 'none.toml'))).toMatchObject({ visible: [], scripts: [], limits: { files: 4_096 } });
    expect(await read('[[runner.visible]]\npath = "/srv/tools/"\n[runner.limits]\nmemory = "2GiB"\n')).toMatchObject({
      visible: [{ path: '/srv/tools', write: false }],
      limits: { memory: 2 * 1024 ** 3, processes: 4_096 },
    });
  });

  it.each([
    ['[runner', '/host.toml:1: column 2: incomplete key-value: cannot find end of key'],
    ['[[runner.visible]]\npath = "tools"', '/host.toml: runner.visible.0.path: has to be absolute or begin with ~/'],
    ['[runner]\nvisibel = []', expect.stringContaining('Unrecognized key')],
    ['[runner.limits]\nmemory = "lots"', expect.stringContaining('runner.limits.memory')],
  ])('is refused when it is wrong: %#', async (text, message) => {
    expect(await read(text)).toEqual(message);
    expect((await hostFileFault(path.join(root, 'host.toml')))?.replace(root, '')).toEqual(message);
  });

  it('has no fault when it is right, or is not there', async () => {
    await read('[runner.limits]\nmemory = "2GiB"\n');
    expect(await hostFileFault(path.join(root, 'host.toml'))).toBeUndefined();
    expect(await hostFileFault(path.join(root, 'none.toml'))).toBeUndefined();
  });
});
