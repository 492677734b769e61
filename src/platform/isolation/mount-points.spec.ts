import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Program } from '../runtime/port.js';
import { Bubblewrap } from './bubblewrap.js';
import { identityOf } from './held.js';
import { existing, writtenIn, type Mount } from './mounts.js';

const LIMITS = { memory: 1024 ** 3, processes: 4_096, files: 1_024 };
const shared = await mkdtemp(path.join(tmpdir(), 'svc-isolation-'));
const bubblewrap = await Bubblewrap.tryOn(LIMITS, shared).catch(() => undefined);
let root: string;
let home: string;
let own: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-places-')));
  [home, own] = [path.join(root, 'home'), path.join(root, 'own')];
  const folders = ['home/.local/bin', 'home/.config/tool', 'own/home', 'own/tmp', 'elsewhere', 'data'];
  await Promise.all(folders.map((at) => mkdir(path.join(root, at), { recursive: true })));
  await writeFile(path.join(home, '.local/bin/tool'), 'of the host');
  await writeFile(path.join(home, '.gitconfig'), 'of the host');
  await writeFile(path.join(root, 'data/admin.key'), 'KEY');
});

afterEach(() => rm(root, { recursive: true }));

afterAll(() => rm(shared, { recursive: true }));

const seen = (): Mount[] => [
  { at: home, mode: 'write', from: path.join(own, 'home') },
  { at: '/tmp', mode: 'write', from: path.join(own, 'tmp') },
  { at: path.join(home, '.local/bin'), mode: 'read' },
  { at: path.join(home, '.config/tool'), mode: 'write' },
  { at: path.join(home, '.gitconfig'), mode: 'read' },
];

const ownedBy = (): Mount[] => seen().map((mount) => (mount.from?.startsWith(own) ? { ...mount, isOwn: true } : mount));

async function entered(line: string, mounts = seen(), onMoved?: (at: string, away: string) => void): Promise<Program> {
  const program = { command: '/bin/sh', args: ['-c', `cd ${home}; ${line}`], cwd: '/', env: { PATH: '/usr/bin:/bin', HOME: home } };
  return bubblewrap!.sandbox(mounts, '', undefined, onMoved).enter(program);
}

async function said({ command, args, cwd, env }: Program): Promise<string> {
  return promisify(execFile)(command, [...args], { cwd, env }).then(
    ({ stdout, stderr }) => stdout + stderr,
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
}

const output = async (line: string): Promise<string> => said(await entered(line));

/** What an agent of an earlier release could leave: nothing was mounted on the folders between. */
async function left(at: string, target: string): Promise<void> {
  await mkdir(path.dirname(path.join(own, 'home', at)), { recursive: true });
  await symlink(target, path.join(own, 'home', at));
}

(bubblewrap === undefined ? describe.skip : describe)('what is shown below the home of an agent', () => {
  it('is there, and no agent renames a folder above it by a plain rename', async () => {
    expect(
      await output('cat .local/bin/tool .gitconfig; for at in .local .config .gitconfig; do mv $at was 2>/dev/null || echo stays; done'),
    ).toBe('of the hostof the hoststays\nstays\nstays\n');
    expect(
      await output('mkdir -p .local/state && echo mine > .local/state/x; touch .local/bin/x 2>/dev/null; echo w > .config/tool/w'),
    ).toBe('');
    expect(await output('cat .local/state/x .config/tool/w')).toBe('mine\nw\n');
    expect(await readdir(path.join(home, '.local'))).toEqual(['bin']);
  });

  // Guard: while bubblewrap sets up, all of the host lies there.
  it.each(['.local', '.local/bin', '.gitconfig'])('is not mounted, nor anything made, where a link leads out at %s', async (at) => {
    await left(at, `/oldroot${root}/elsewhere${at === '.local' ? '' : '/new'}`);
    await expect(entered('echo begun')).rejects.toThrow('a link leads out of it');
    expect(await readdir(path.join(root, 'elsewhere'))).toEqual([]);
  });

  // Guard: links of the folder that is mounted there would be followed by whatever sets up.
  it.each([
    ['.local/bin', '.local', '.claude/x'],
    ['.gitconfig', '.gitconfig', '.claude/x/nologin'],
    ['.config/tool', '.config', '.claude/x'],
  ])('is not mounted where a link leads into what else is shown, as for %s', async (at, link, target) => {
    await Promise.all(['home/.claude', 'home/.cargo/bin'].map((one) => mkdir(path.join(root, one), { recursive: true })));
    await symlink(`/oldroot${root}/elsewhere`, path.join(home, '.claude/x'));
    await left('.cargo', '.claude/x');
    await left(link, target);
    const shown: Mount[] = [
      { at: path.join(home, '.claude'), mode: 'write' },
      { at: path.join(home, at), mode: 'read' },
    ];
    await expect(entered('echo begun', [...seen().slice(0, 2), ...shown])).rejects.toThrow(
      `${path.join(own, 'home', at)} lies: a link leads into`,
    );
    shown.push({ at: path.join(home, '.cargo/bin'), mode: 'read' });
    await expect(entered('echo begun', [...seen().slice(0, 2), ...shown])).rejects.toThrow('a link leads into what is shown');
    expect(await readdir(path.join(root, 'elsewhere'))).toEqual([]);
  });

  it('is seen once where a link of an agent has two of its places be one', async () => {
    await mkdir(path.join(own, 'home/dotfiles'), { recursive: true });
    await left('.config', 'dotfiles');
    await writeFile(path.join(home, '.config/tool/x'), 'x');
    const again: Mount = { at: path.join(home, 'dotfiles/tool'), mode: 'write', from: path.join(home, '.config/tool') };
    expect(await said(await entered('cat .config/tool/x dotfiles/tool/x', [...seen(), again]))).toBe('xx');
    await expect(entered('echo begun', [...seen(), { ...again, from: path.join(root, 'data') }])).rejects.toThrow(
      'leads into what is shown',
    );
  });

  it('is a file that programs replace as they save it, and no link that is put in its place', async () => {
    await mkdir(path.join(home, '.claude'));
    const file = path.join(home, '.claude/.claude.json');
    await writeFile(file, 'first');
    await symlink('.claude/.claude.json', path.join(home, '.claude.json'));
    const folders = [path.join(home, '.claude')];
    const found = await Promise.all([...folders, path.join(home, '.claude.json')].map((at) => existing(at, 'write', { folders })));
    const program = { command: '/bin/sh', args: ['-c', `cat ${home}/.claude.json ${file}`], cwd: '/', env: { PATH: '/usr/bin:/bin' } };
    const enter = (): Promise<Program> => bubblewrap!.sandbox([...ownedBy().slice(0, 2), ...found.flat()], '').enter(program);
    expect(await said(await enter())).toBe('firstfirst');
    await writeFile(`${file}.new`, 'second');
    await rename(`${file}.new`, file);
    const late = await enter();
    expect(await said(late)).toBe('secondsecond');
    await rm(file);
    await expect(enter()).rejects.toThrow('is not there any more');
    await symlink(path.join(root, 'data/admin.key'), file);
    await expect(enter()).rejects.toThrow('is a link, or lies behind one');
    expect(await said(late)).toContain('replaced by another one');
  });

  // Guard: an agent would keep its own session from starting until a person has looked.
  it.each([
    ['.local', (): string => root, ''],
    ['.local/bin', (): string => `/oldroot${root}`, ''],
    ['.local', (): string => '../../own', ''],
    ['.local', (): string => '.local', ''],
    ['.local/bin', (): string => '..', ''],
    ['.gitconfig', (): string => '.config/tool/x', ''],
    ['.local', (): string => '.config/tool', 'on'],
    // As long as a name may be, nearly: 251 bytes.
    ['.local', (): string => root, `x${'é'.repeat(125)}`],
  ])('is shown where a link of the agent was at %s, which is moved away: %#', async (at, target, next) => {
    await left(at, next || target());
    if (next !== '') await left(next, target());
    const moved: string[][] = [];
    const line = 'cat .local/bin/tool .gitconfig; echo w > .config/tool/w';
    expect(await said(await entered(line, ownedBy(), (...both) => moved.push(both)))).toBe('of the hostof the host');
    const link = path.join(own, 'home', next || at);
    expect(moved).toEqual([[link, expect.stringMatching(/[a-zé]\.away-[0-9a-f]{12}$/)]]);
    expect(moved[0]![1]!.startsWith(link.slice(0, path.join(own, 'home').length + 90))).toBe(true);
    expect(await readlink(moved[0]![1]!)).toBe(target());
    expect(await readdir(path.join(home, '.config/tool'))).toEqual(['w']);
    expect(await output('cat .local/bin/tool')).toBe('of the host');
  });

  it('is shown where the agent had a file for a folder, a folder for a file, and a link into what comes later', async () => {
    await Promise.all(['.gitconfig/x', 'tools'].map((one) => mkdir(path.join(own, 'home', one), { recursive: true })));
    await writeFile(path.join(own, 'home/.local'), 'mine');
    await left('.config/tool', '../tools');
    await mkdir(path.join(home, 'tools'));
    const moved: string[] = [];
    const mounts = [...ownedBy(), { at: path.join(home, 'tools'), mode: 'read' } as const];
    const line = 'cat .local/bin/tool .gitconfig; touch .config/tool/w tools/w 2>&1 | grep -c tools/w';
    expect(await said(await entered(line, mounts, (at) => moved.push(path.relative(own, at))))).toBe('of the hostof the host1\n');
    expect(moved.sort()).toEqual(['home/.config/tool', 'home/.gitconfig', 'home/.local']);
  });

  it('ends a start where a link is in what others write, and says which it is', async () => {
    await left('.local', '../..');
    const link = path.join(own, 'home/.local');
    await expect(entered('echo begun')).rejects.toThrow(`a link leads out of it; move it away: mv '${link}' '${link}.away'`);
    await rm(link);
    await left('.local', 'x'.repeat(250));
    await left('x'.repeat(250), '../..');
    await expect(entered('echo begun')).rejects.toThrow(`${'x'.repeat(250)}' '${path.join(own, 'home', 'x'.repeat(200))}.away'`);
  });

  it('hides what is to be hidden behind no link of what is read-only', async () => {
    await symlink('/usr', path.join(home, '.local/bin/out'));
    const hidden: Mount = { at: path.join(home, '.local/bin/out/secret'), mode: 'hidden' };
    await expect(entered('echo begun', [...seen(), hidden])).rejects.toThrow('a link leads out of it');
  });

  it('covers nothing that is mounted later', async () => {
    await mkdir(path.join(home, '.config/tool/home/.local'), { recursive: true });
    await symlink(`/oldroot${root}/data`, path.join(home, '.config/tool/tmp'));
    await left('.config/tool', `/oldroot${own}`);
    await expect(entered('cat /tmp/admin.key')).rejects.toThrow('a link leads out of it');
    // A process of the same session that still runs puts the link there when the place has been looked at.
    await rm(path.join(own, 'home/.config'), { recursive: true });
    const program = await entered('cat /tmp/admin.key; echo changed > /tmp/admin.key');
    await rm(path.join(own, 'home/.config'), { recursive: true });
    await left('.config/tool', `/oldroot${own}`);
    expect(await said(program)).toMatch(/before this began\n$/);
    expect(await readFile(path.join(root, 'data/admin.key'), 'utf8')).toBe('KEY');
  });

  it('begins nothing where a link leads elsewhere in the home meanwhile, or to a folder of the host', async () => {
    const program = await entered('echo begun');
    await rename(path.join(own, 'home/.local'), path.join(own, 'home/was'));
    await symlink('was', path.join(own, 'home/.local'));
    expect(await said(program)).toContain('before this began');
    await rm(path.join(own, 'home/.local'));
    await symlink(path.join(root, 'data'), path.join(own, 'home/.local'));
    expect(await said(program)).not.toContain('begun');
    expect(await readdir(path.join(root, 'data'))).toEqual(['admin.key']);
  });

  // Guard: an agent that runs may put a link there after the place has been looked at.
  (bubblewrap?.nests === true ? it : it.skip).each([
    ['.gitconfig', ''],
    ['.gitconfig', `/proc/${process.pid}/root`],
    ['.local/bin', ''],
  ])('has nothing made elsewhere for a line that begins beside an agent, by a link at %s: %#', async (at, on) => {
    const program = { command: '/bin/sh', args: ['-c', 'echo begun; exit 3'], cwd: '/', env: { PATH: '/usr/bin:/bin' } };
    const sandbox = bubblewrap!.sandbox(ownedBy(), '');
    expect(await said(await sandbox.enter(program))).toBe('begun\n');
    const line = await sandbox.enter(program);
    expect(await said(line)).toBe('begun\n');
    await rename(path.join(own, 'home', at), path.join(own, 'was'));
    await symlink(`/oldroot${on}${root}/elsewhere/new`, path.join(own, 'home', at));
    expect(await said(line)).toMatch(/^bwrap: /);
    expect(await readdir(path.join(root, 'elsewhere'))).toEqual([]);
  });

  it('begins in a sandbox within another one where others may write on the way to a rig', async () => {
    const city = path.join(root, 'city');
    await mkdir(path.join(city, 'rigs/one'), { recursive: true });
    const count = async (...mounts: Mount[]): Promise<number> =>
      (await entered('', [...ownedBy(), ...mounts])).args.filter((arg) => arg === '--unshare-user').length;
    const nested = bubblewrap!.nests ? 2 : 1;
    expect(await count({ at: city, mode: 'read' }, writtenIn(city, path.join(city, 'rigs')))).toBe(1);
    expect(await count({ at: city, mode: 'read' }, writtenIn(city, path.join(city, 'rigs/one')))).toBe(nested);
    // It is seen as a part of the city then.
    expect(await count({ at: city, mode: 'write' }, writtenIn(city, path.join(city, 'rigs/one')))).toBe(1);
    expect(await count(writtenIn(city, path.join(root, 'elsewhere')))).toBe(1);
    // Nobody makes anything behind a link in the place of a folder.
    const below = (at: string, more: Partial<Mount> = {}): Mount => ({ at: path.join(city, at), mode: 'read', ...more });
    expect(await count({ at: city, mode: 'write' }, below('rigs'))).toBe(1);
    expect(await count({ at: city, mode: 'write' }, below('rigs/one'))).toBe(nested);
    expect(await count({ at: city, mode: 'write' }, below('x', { from: path.join(home, '.gitconfig'), isRenewed: true }))).toBe(nested);
  });

  it('begins nothing where a link lies in the place itself by then', async () => {
    const program = await entered('echo begun');
    await rename(path.join(own, 'home/.config/tool'), path.join(own, 'home/was'));
    await symlink('../was', path.join(own, 'home/.config/tool'));
    expect(await said(program)).toContain('a link lay where');
    await rm(path.join(own, 'home/.config/tool'));
    await symlink(`/oldroot${own}`, path.join(own, 'home/.config/tool'));
    expect(await said(program)).not.toContain('begun');
  });

  it.each([
    ['relative', (): string => 'dotfiles/config'],
    ['absolute', (): string => path.join(home, 'dotfiles/config')],
  ])('is seen through a %s link that an agent has in its home', async (_, target) => {
    await mkdir(path.join(own, 'home/dotfiles/config'), { recursive: true });
    await left('.config', target());
    await writeFile(path.join(home, '.config/tool/x'), 'of the host');
    expect(await output('cat .config/tool/x dotfiles/config/tool/x')).toBe('of the hostof the host');
    expect(await output('echo on')).toBe('on\n');
  });

  it('may lie below folders with odd names, and behind links of what is shown', async () => {
    const odd = path.join(home, "it's a\\b/c d");
    await mkdir(path.join(odd, 'v1'), { recursive: true });
    await symlink('v1', path.join(odd, 'current'));
    await writeFile(path.join(odd, 'v1/x'), 'x');
    const more: Mount[] = [
      { at: odd, mode: 'read' },
      { at: path.join(odd, 'current'), mode: 'write', from: path.join(odd, 'v1') },
    ];
    const program = await entered(`cat "${odd.replace('\\', '\\\\')}/current/x"`, [...seen(), ...more]);
    expect(await said(program)).toBe('x');
  });

  it('is not mounted again where a folder that is written shows it, and is still the one that was looked at', async () => {
    const place = path.join(root, 'elsewhere/x');
    await mkdir(place);
    const mounts: Mount[] = [
      { at: path.join(root, 'elsewhere'), mode: 'write' },
      { at: place, mode: 'write', identity: await identityOf(place) },
    ];
    const program = await entered('echo begun', [...seen(), ...mounts]);
    expect(program.args.filter((arg) => arg === place)).toEqual([]);
    expect(await said(program)).toBe('begun\n');
    await rename(place, path.join(root, 'elsewhere/was'));
    await symlink('../data', place);
    expect(await said(program)).toContain('replaced by another one');
  });
});
