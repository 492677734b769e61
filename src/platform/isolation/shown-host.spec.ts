import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Program } from '../runtime/port.js';
import { Bubblewrap } from './bubblewrap.js';
import type { Mount } from './mounts.js';
import { keptOf, shownHost } from './shown-host.js';

const shared = await mkdtemp(path.join(tmpdir(), 'svc-isolation-'));
const bubblewrap = await Bubblewrap.tryOn({ memory: 1024 ** 3, processes: 4_096, files: 1_024 }, shared).catch(() => undefined);
const FIXED = ['--ro-bind-try', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--ro-bind', '/data/etc', '/etc', '--unshare-net'];

/** What is shown, without what always is. */
function shown(changing: readonly string[], kept: Parameters<typeof keptOf>[0] = []): string[] {
  const args = shownHost('/usr/bin/bwrap', FIXED, changing, keptOf(kept));
  expect(args.slice(-9, -4)).toEqual(['--bind', '/proc', '/proc', '--', '/usr/bin/bwrap']);
  return args.flatMap((option, n) =>
    /^--(tmpfs|(ro-)?bind)/.test(option) && !['/proc', '/usr/bin/bwrap'].includes(args[n + 1]!) ? [`${option} ${args[n + 1]}`] : [],
  );
}

afterAll(() => rm(shared, { recursive: true }));

async function said({ command, args, cwd, env }: Program): Promise<string> {
  return promisify(execFile)(command, [...args], { cwd, env }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

describe('a sandbox around another one', () => {
  it('shows what is mounted in that at its own place, and links of the system', () => {
    expect(shown(['--bind', '/own/home', '/home', '--ro-bind', '/tools', '/tools', '--tmpfs', '/hidden'])).toEqual([
      ...['--ro-bind /data/etc', '--bind /own/home', '--ro-bind /tools', '--ro-bind-try /usr'],
    ]);
    expect(shownHost('/usr/bin/bwrap', FIXED, []).join(' ')).toContain('--symlink usr/bin /bin');
  });

  // Guard: a mount point in a folder that agents write could be a link, here as well.
  it('mounts nothing within what is mounted, which is writable where anything in it is', () => {
    const city = ['--ro-bind', '/city', '/city', '--bind', '/city/a/rig', '/city/a/rig', '--ro-bind', '/city/.gc', '/city/.gc'];
    expect(shown([...city, ...city, '--ro-bind', '/city-b', '/b'])).toEqual([
      ...['--bind /city', '--ro-bind /city-b', '--ro-bind /data/etc', '--ro-bind-try /usr'],
    ]);
    expect(shown(['--bind', '/data', '/data', '--ro-bind', '/usr/local/x', '/x'])).toEqual([
      ...['--bind /data', '--ro-bind-try /usr', '--ro-bind /usr/local/x'],
    ]);
  });

  const own = ['home', 'tmp'].map((at) => ({ at: `/${at}`, from: `/city/.gc/sessions/a1/${at}`, mode: 'write', isKept: true }) as const);
  const kept: Parameters<typeof keptOf>[0] = [
    ...own,
    { at: '/city/.gc', mode: 'read', isKept: true },
    { at: '/city/.gc/sessions', mode: 'hidden', isKept: true },
    { at: '/city/.gc/services', mode: 'hidden', isKept: true },
    { at: '/city/.gc/runtime', mode: 'write', isKept: true },
    { at: '/city/.gc/runtime/overlays', mode: 'hidden', isKept: true },
    { at: '/city/rig', mode: 'write' },
  ];
  const ofOwn = own.flatMap(({ at, from }) => ['--bind', from, at]);
  const ofCity = ['--ro-bind', '/city', '/city', '--bind', '/city/.gc/runtime', '/city/.gc/runtime'];
  const ITS = [
    ...['--bind /city/.gc/runtime', '--tmpfs /city/.gc/runtime/overlays'],
    ...[
      '--tmpfs /city/.gc/services',
      '--tmpfs /city/.gc/sessions',
      '--bind /city/.gc/sessions/a1/home',
      '--bind /city/.gc/sessions/a1/tmp',
    ],
    ...['--ro-bind /data/etc', '--ro-bind-try /usr'],
  ];

  // Guard: all of the city would be writable for its own agent, while something begins beside that.
  it('mounts what lies on a way of the service by itself, and hides the rest of it', () => {
    expect(shown([...ofOwn, ...ofCity], kept)).toEqual(['--ro-bind /city', '--ro-bind /city/.gc', ...ITS]);
    expect(shown([...ofOwn, ...ofCity, '--bind', '/city/rig', '/city/rig'], kept)).toEqual(['--bind /city', '--ro-bind /city/.gc', ...ITS]);
    expect(shown([...ofOwn, ...ofCity, '--bind', '/city/.gc/odd/x', '/x'], kept)).toEqual(['--ro-bind /city', '--bind /city/.gc', ...ITS]);
  });

  it('mounts all of what hides where something else in it is seen, and nothing within what others may move', () => {
    const around = ['--bind', '/city/.gc/services/a/b', '/city/.gc/services/a/b', '--ro-bind', '/city/.gc/sessions/x', '/x'];
    expect(shown([...ofOwn, ...ofCity, ...around], kept)).toEqual(
      ['--ro-bind /city', '--ro-bind /city/.gc', ...ITS].map((one) =>
        one
          .replace('--tmpfs /city/.gc/services', '--bind /city/.gc/services')
          .replace('--tmpfs /city/.gc/sessions', '--ro-bind /city/.gc/sessions'),
      ),
    );
    expect(shown(['--bind', '/', '/all', ...ofCity], kept)).toEqual(['--bind /']);
  });
});

// Guard: the home of an agent lies in its city, of which it may only read the rest.
(bubblewrap?.nests === true ? it : it.skip).each(['orders/new', '.gc/new', '.gc/runtime/overlays/new', '.gc/sessions/a2/home/new'])(
  'nothing is made in the city of an agent while a line begins beside that, by a link to %s',
  async (target) => {
    const city = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-city-')));
    try {
      const below = (at: string): string => path.join(city, at);
      const own = below('.gc/sessions/a1');
      const folders = ['orders', '.gc/runtime/overlays', '.gc/sessions/a1/home', '.gc/sessions/a1/tmp', '.gc/sessions/a2/home'];
      await Promise.all(folders.map((at) => mkdir(below(at), { recursive: true })));
      await writeFile(below('config'), '');
      const ofCity: Mount[] = [
        { at: below('.gc'), mode: 'read', isKept: true },
        { at: below('.gc/runtime'), mode: 'write', isKept: true },
        { at: below('.gc/runtime/overlays'), mode: 'hidden', isKept: true },
        { at: below('.gc/sessions'), mode: 'hidden', isKept: true },
      ];
      const its: Mount[] = [
        { at: '/own', mode: 'write', from: path.join(own, 'home'), isOwn: true, isKept: true },
        { at: '/tmp', mode: 'write', from: path.join(own, 'tmp'), isOwn: true, isKept: true },
        { at: '/own/.gitconfig', mode: 'read', from: below('config') },
      ];
      const sandbox = bubblewrap!.sandbox([...its, { at: city, mode: 'read' }, ...ofCity], '');
      const line = `cd ${city}; touch /own/mine /tmp/mine .gc/runtime/mine && ls -A .gc/sessions .gc/runtime/overlays; touch orders/x .gc/x 2>/dev/null`;
      const program = { command: '/bin/sh', args: ['-c', line], cwd: '/', env: { PATH: '/usr/bin:/bin' } };
      const expected = '.gc/runtime/overlays:\n\n.gc/sessions:\n';
      expect(await said(await sandbox.enter(program))).toBe(expected);
      const beside = await sandbox.enter(program);
      expect(await said(beside)).toBe(expected);
      expect(await Promise.all(['home', 'tmp'].map(async (at) => (await readdir(path.join(own, at))).includes('mine')))).toEqual([
        true,
        true,
      ]);
      await rename(path.join(own, 'home/.gitconfig'), path.join(own, 'was'));
      await symlink(`/oldroot${below(target)}`, path.join(own, 'home/.gitconfig'));
      await said(beside);
      expect(await readdir(path.dirname(below(target)))).not.toContain('new');
    } finally {
      await rm(city, { recursive: true });
    }
  },
);
