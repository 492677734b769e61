import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { renameSync, symlinkSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHash } from 'node:crypto';
import { eventually } from '../../../../../test/support/sse.js';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { DiskTree } from './disk-tree.js';
import { FileCache, type KnownFolder } from './file-cache.js';
import { TreeFailure } from './file-tree.js';
import { isSettled, Ledger, stampOf } from './ledger.js';
import { lstat } from './placed.js';

let base: string;
let root: string;
/** As on a disk that may not answer: threads are asked. */
const notAtHand = (): void => void jest.spyOn(processPlaces, 'isAtHand').mockReturnValue(false);
/** What threads tell, and what is told at once. */
async function changedBothWays(ledger: Ledger): Promise<[byThreads: boolean, atHand: boolean]> {
  const isAtHand = jest.spyOn(processPlaces, 'isAtHand').mockReturnValue(false);
  const byThreads = await ledger.changed();
  isAtHand.mockReturnValue(true);
  return [byThreads, await ledger.changed()];
}
beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'tree-')));
  root = path.join(base, 'city');
  await mkdir(root);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(base, { recursive: true, force: true });
});

const tree = (ledger = new Ledger()): DiskTree => new DiskTree(root, '', ledger, { cache: new FileCache() });

async function put(name: string, content: string | Buffer = name): Promise<string> {
  const at = path.join(root, name);
  await mkdir(path.dirname(at), { recursive: true });
  await writeFile(at, content);
  return at;
}

async function failure(work: Promise<unknown>): Promise<TreeFailure> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TreeFailure)) throw new Error(`no TreeFailure: ${String(error)}`);
  return error;
}

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('DiskTree', () => {
  it.each([
    ['files', { files: 3, bytes: Infinity }],
    ['bytes', { files: Infinity, bytes: 3 }],
  ])('digests only as many %s as several readings may have together', async (_what, allowance) => {
    for (const name of ['a/1', 'a/2', 'b/1', 'b/2']) await put(name, 'x');
    expect(await tree().digests('a', allowance)).toHaveLength(2);
    expect((await failure(tree().digests('b', allowance))).message).toBe('with it there is more than may be read');
    expect(await tree().digests('b')).toHaveLength(2);
  });

  it('reads, lists and digests what lies below its root', async () => {
    await put('city.toml', '\u{FEFF}a = 1');
    await put('agents/b/agent.toml');
    await put('agents/a/.hidden');
    await put('agents/_skipped');
    await put('.gc/state');
    await put('agents/.git/config');
    expect(await tree().read('city.toml')).toBe('\u{FEFF}a = 1');
    expect(await tree().read('./agents//b/../b/agent.toml')).toBe('agents/b/agent.toml');
    expect(await tree().list('agents')).toEqual([
      { name: 'a', kind: 'directory' },
      { name: 'b', kind: 'directory' },
    ]);
    expect((await tree().digests('')).map(([name]) => name)).toEqual([
      'agents/_skipped',
      'agents/a/.hidden',
      'agents/b/agent.toml',
      'city.toml',
    ]);
    expect(await tree().digests('agents/b')).toEqual([['agents/b/agent.toml', sha('agents/b/agent.toml')]]);
  });

  it('answers what is not there with nothing', async () => {
    await put('file');
    expect(await tree().read('no')).toBeUndefined();
    expect(await tree().read('file/below')).toBeUndefined();
    expect(await tree().list('no')).toEqual([]);
    expect(await tree().list('file')).toEqual([]);
    expect(await tree().digests('no')).toEqual([]);
    expect(await new DiskTree(path.join(base, 'no')).read('x')).toBeUndefined();
  });

  it.each(['../secret', 'a/../../secret', '/etc/passwd', 'a\0b', '\u{D800}', 'd/'.repeat(40)])('refuses the path %j', async (wanted) => {
    await writeFile(path.join(base, 'secret'), 'x');
    for (const work of [tree().read(wanted), tree().list(wanted), tree().digests(wanted)])
      expect((await failure(work)).transient).toBe(false);
  });

  it('refuses a name that no file system has', async () => {
    expect((await failure(tree().read('x'.repeat(300)))).message).toBe('the path is too long');
  });

  it('follows links inside and refuses those that lead out', async () => {
    await put('shared/prompt.md', 'shared');
    await writeFile(path.join(base, 'secret'), 'secret');
    await mkdir(path.join(base, 'elsewhere'));
    await put('agents/keep');
    await symlink('../shared', path.join(root, 'agents/in'));
    await symlink(path.join(base, 'elsewhere'), path.join(root, 'agents/out'));
    await symlink('../../secret', path.join(root, 'agents/secret'));
    await symlink('nowhere', path.join(root, 'agents/dangling'));
    await symlink('loop', path.join(root, 'loop'));
    expect(await tree().read('agents/in/prompt.md')).toBe('shared');
    expect(await tree().read('agents/dangling')).toBeUndefined();
    expect(await tree().list('agents')).toEqual([
      { name: 'in', kind: 'directory' },
      { name: 'keep', kind: 'file' },
      { name: 'out', kind: 'directory' },
      { name: 'secret', kind: 'file' },
    ]);
    for (const work of [tree().read('agents/secret'), tree().list('agents/out'), tree().read('agents/out/x'), tree().digests('agents')])
      expect((await failure(work)).message).toBe('it leads outside');
    expect((await failure(tree().read('loop'))).message).toMatch(/loop/);
  });

  it('follows links as far as it is told', async () => {
    await put('shared/prompt.md', 'shared');
    await put('pack/pack.toml');
    await symlink('../shared', path.join(root, 'pack/in'));
    await symlink('../../x', path.join(root, 'pack/out'));
    await writeFile(path.join(base, 'x'), 'x');
    const pack = new DiskTree(path.join(root, 'pack'), '', new Ledger(), { within: root });
    expect(await pack.read('in/prompt.md')).toBe('shared');
    expect((await failure(pack.read('out'))).message).toBe('it leads outside');
    expect((await failure(pack.read('../shared/prompt.md'))).message).toMatch(/leads outside/);
  });

  it.each<[string, (of: DiskTree) => Promise<unknown>]>([
    ['a file', (of) => of.read('way/x/in/file')],
    ['digests', (of) => of.digests('way/x/in')],
    ['a list', (of) => of.list('way/x/in')],
  ])('reads nothing from behind a link that a folder becomes once its path was found: %s', async (_what, read) => {
    await put('x/in/file', 'own');
    const others = path.join(base, 'others');
    await mkdir(path.join(others, 'in'), { recursive: true });
    await writeFile(path.join(others, 'in/file'), 'secret');
    await symlink('.', path.join(root, 'way'));
    const ledger = new Ledger();
    // Between the look at the path, which this is told of, and the use of it.
    jest.spyOn(ledger, 'noteLink').mockImplementationOnce(() => {
      renameSync(path.join(root, 'x'), path.join(root, 'y'));
      symlinkSync(others, path.join(root, 'x'));
    });
    expect(await failure(read(tree(ledger)))).toMatchObject({ message: 'it changes while it is read', transient: true });
  });

  it.each<[string, (of: DiskTree) => Promise<unknown>]>([
    ['digests', (of) => of.digests('way/x')],
    ['a list', (of) => of.list('way/x')],
  ])('takes no folder for absent that becomes a link itself once its path was found: %s', async (_what, read) => {
    await put('x/file', 'own');
    await symlink('.', path.join(root, 'way'));
    const ledger = new Ledger();
    jest.spyOn(ledger, 'noteLink').mockImplementationOnce(() => {
      renameSync(path.join(root, 'x'), path.join(root, 'y'));
      symlinkSync('y', path.join(root, 'x'));
    });
    expect(await failure(read(tree(ledger)))).toMatchObject({ message: 'it changes while it is read', transient: true });
    expect(await read(tree())).toHaveLength(1);
  });

  it('digests through links and stops at one that leads up', async () => {
    await put('shared/a', 'a');
    await put('skills/own', 'own');
    await symlink('../shared', path.join(root, 'skills/more'));
    expect((await tree().digests('skills')).map(([name]) => name)).toEqual(['skills/more/a', 'skills/own']);
    await symlink('..', path.join(root, 'skills/up'));
    expect((await failure(tree().digests('skills'))).message).toMatch(/directory above it/);
  });

  it('refuses pipes, sockets and directories as files, at once', async () => {
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    const server = createServer().listen(path.join(root, 'socket'));
    await put('directory/file');
    try {
      expect((await failure(tree().read('pipe'))).message).toMatch(/pipe/);
      expect((await failure(tree().read('socket'))).message).toMatch(/socket/);
      expect((await failure(tree().read('directory'))).message).toMatch(/directory/);
      expect((await failure(tree().digests(''))).message).toMatch(/pipe/);
    } finally {
      server.close();
    }
  });

  it('bounds text, digests and directories', async () => {
    await put('big.toml', Buffer.alloc(1024 * 1024 + 1, 'a'));
    await put('full.toml', Buffer.alloc(1024 * 1024, 'a'));
    expect((await failure(tree().read('big.toml'))).message).toBe('it is larger than 1 MiB');
    expect(await tree().read('full.toml')).toHaveLength(1024 * 1024);
    await truncate(await put('sparse/one'), 200 * 1024 * 1024);
    await truncate(await put('sparse/two'), 100 * 1024 * 1024);
    const all = { files: 40_000, bytes: 256 * 1024 * 1024 };
    expect((await failure(tree().digests('sparse', all))).message).toBe('the files are larger than 256 MiB together');
    expect(all.bytes).toBeLessThan(0);
    for (let n = 0; n <= 2_000; n++) await put(`many/${n}`, '');
    expect((await failure(tree().list('many'))).message).toMatch(/2000 entries/);
    await put(`${'d/'.repeat(33)}f`);
    expect((await failure(tree().digests('d'))).message).toMatch(/32 directories deep/);
  });

  // Two links each to the next folder: 30 of them are a thousand million ways, and not one file.
  it('bounds the folders that links make of a few', async () => {
    await put('file');
    for (let n = 0; n < 30; n++) {
      await mkdir(path.join(root, `doubled/${n}`), { recursive: true });
      for (const name of ['a', 'b']) await symlink(`../${n + 1}`, path.join(root, `doubled/${n}/${name}`));
    }
    await mkdir(path.join(root, 'doubled/30'));
    const ledger = new Ledger();
    const all = { files: 20_000, bytes: Infinity };
    expect((await failure(tree(ledger).digests('doubled', all))).message).toBe('there are more than 20000 files and directories');
    expect(all.files).toBeLessThan(0);
    expect(ledger.size).toBeLessThan(50_000);
    const allowance = { files: 100, bytes: Infinity };
    expect((await failure(tree().digests('doubled', allowance))).message).toBe('with it there is more than may be read');
  });

  it.each<[string, () => Promise<unknown>, (at: DiskTree) => Promise<unknown>]>([
    ['was too large', async () => truncate(await put('city.toml'), 2 * 1024 * 1024), (at) => at.read('city.toml')],
    ['is a folder', () => mkdir(path.join(root, 'city.toml')), (at) => at.read('city.toml')],
    ['is a link to itself', () => symlink('city.toml', path.join(root, 'city.toml')), (at) => at.read('city.toml')],
    ['is too large to be digested', async () => truncate(await put('a/city.toml'), 300 * 1024 * 1024), (at) => at.digests('a')],
    [
      'is one of too many',
      async () => {
        for (let n = 0; n <= 2_000; n++) await put(`${n}`, '');
        await put('city.toml');
      },
      (at) => at.list(''),
    ],
  ])('shows when what %s is mended', async (_what, make, read) => {
    await make();
    const ledger = new Ledger();
    await failure(read(tree(ledger)));
    expect(await ledger.changed()).toBe(false);
    for (const name of ['city.toml', 'a/city.toml']) await rm(path.join(root, name), { recursive: true, force: true });
    expect(await changedBothWays(ledger)).toEqual([true, true]);
  });

  // Guard: a disk that does not answer keeps so many threads only.
  it('asks for a few files at a time of a disk that does not answer, and for those of others all the same', async () => {
    for (let n = 0; n < 40; n++) await put(`far/${n}`);
    const far = path.join(root, 'far');
    await put('near/a');
    const ledger = new Ledger();
    await tree(ledger).digests('far');
    notAtHand();
    jest.spyOn(processPlaces, 'diskOf').mockImplementation((file) => (file.startsWith(far) ? far : root));
    const run = processPlaces.run.bind(processPlaces);
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let hung = 0;
    const hang = async <T>(work: () => Promise<T>): Promise<T> => {
      hung++;
      await answered;
      return work();
    };
    jest
      .spyOn(processPlaces, 'run')
      .mockImplementation((file, work) => run(file, () => (file.startsWith(`${far}/`) ? hang(work) : work())));
    const found = tree().digests('far');
    const changed = ledger.changed();
    await eventually(() => hung === 8);
    for (let n = 0; n < 5; n++) expect(await tree().read('near/a')).toBe('near/a');
    expect(hung).toBe(8);
    answer();
    expect(await found).toHaveLength(40);
    expect(await changed).toBe(false);
  });

  // Guard: what a link leads to may be on a disk that does not answer.
  it('leaves places to others where there are links to a disk that does not answer', async () => {
    const far = path.join(root, '../far');
    await put('near/a');
    for (let n = 0; n < 40; n++) await symlink(path.join(far, String(n)), path.join(root, 'near', `to-${n}`));
    notAtHand();
    jest.spyOn(processPlaces, 'diskOf').mockImplementation((file) => (file.startsWith(far) ? far : root));
    const run = processPlaces.run.bind(processPlaces);
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let hung = 0;
    jest.spyOn(processPlaces, 'run').mockImplementation((file, work) =>
      run(file, async () => {
        if (!file.startsWith(far)) return work();
        hung++;
        await answered;
        return work();
      }),
    );
    const listed = tree().list('near');
    await eventually(() => hung === 8);
    expect(await tree().read('near/a')).toBe('near/a');
    answer();
    expect(await listed).toEqual([{ name: 'a', kind: 'file' }]);
  });

  /** What is asked for in places, as it is asked. */
  function placesAsked(): string[] {
    const asked: string[] = [];
    const run = processPlaces.run.bind(processPlaces);
    jest.spyOn(processPlaces, 'run').mockImplementation((file, work) => {
      asked.push(path.relative(root, file));
      return run(file, work);
    });
    return asked;
  }

  it('asks for everything in a place of its disk', async () => {
    notAtHand();
    await put('x/a');
    await symlink('x', path.join(root, 'link'));
    const asked = placesAsked();
    const ledger = new Ledger();
    // Its real path, its kind and what it holds.
    expect(await tree(ledger).read('x/a')).toBe('x/a');
    expect(asked.splice(0)).toEqual(['', 'x/a', 'x/a', 'x/a']);
    expect(await tree().list('')).toHaveLength(2);
    expect(asked.splice(0)).toEqual(['', '', '', 'link', 'x']);
    await eventually(async () => {
      asked.length = 0;
      expect(await ledger.changed()).toBe(false);
      return asked.length === 1;
    });
    expect(asked).toEqual(['x/a']);
  });

  // Guard: a link may lead to a disk that does not answer, and would stop the process.
  it('looks without a thread at what is at hand, and follows no link without one', async () => {
    jest.spyOn(processPlaces, 'isAtHand').mockImplementation((file) => !file.startsWith(path.join(root, 'far')));
    await put('x/a');
    await put('far/b');
    await symlink('x', path.join(root, 'link'));
    const asked = placesAsked();
    const ledger = new Ledger();
    expect(await tree(ledger).read('x/a')).toBe('x/a');
    // The way to the root, and the text.
    expect(asked.splice(0)).toEqual(['', 'x/a']);
    expect(await tree(ledger).read('x/none')).toBeUndefined();
    expect(asked.splice(0)).toEqual(['']);
    expect(await tree(ledger).read('link/a')).toBe('x/a');
    expect(asked.splice(0).slice(0, 2)).toEqual(['', 'link/a']);
    expect(await tree(ledger).read('far/b')).toBe('far/b');
    expect(asked.splice(0)).toEqual(['', 'far/b', 'far/b', 'far/b']);
    await eventually(async () => {
      asked.length = 0;
      expect(await ledger.changed()).toBe(false);
      return asked.length === 2;
    });
    // Where the link leads, and what is not at hand.
    expect(asked).toEqual(expect.arrayContaining(['x/a', 'far/b']));
  });

  // Guard: a thousand files in one turn of the event loop would hold up every request.
  it('lets others have their turn while it looks at much', async () => {
    for (let n = 0; n < 40; n++) await put(`x/${n}`);
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now++);
    const reading = tree();
    let turns = 0;
    const turn = (): void => void (turns++, (next = setImmediate(turn)));
    let next = setImmediate(turn);
    for (let n = 0; n < 40; n++) await lstat(path.join(root, 'x', String(n)));
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
    expect(await reading.list('x')).toHaveLength(40);
  });

  it('refuses text that is no UTF-8', async () => {
    await put('x.toml', Buffer.from([0x61, 0xff, 0x62]));
    expect((await failure(tree().read('x.toml'))).message).toMatch(/UTF-8/);
  });
});

describe('Ledger', () => {
  async function seen(): Promise<Ledger> {
    const ledger = new Ledger();
    const reading = tree(ledger);
    await reading.read('city.toml');
    await reading.read('absent.toml');
    await reading.list('agents');
    await reading.digests('skills');
    return ledger;
  }
  beforeEach(async () => {
    await put('city.toml', 'a = 1');
    await put('agents/a/agent.toml');
    await put('skills/s/SKILL.md', 'one');
    await put('other/o');
    await symlink('other', path.join(root, 'link'));
  });

  it('says no while nothing changed, and two equal readings have one signature', async () => {
    const ledger = await seen();
    await put('unread.toml/x');
    expect(await changedBothWays(ledger)).toEqual([false, false]);
    expect((await seen()).signature()).toBe(ledger.signature());
    expect(ledger.paths().files).toContain(path.join(root, 'city.toml'));
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a file of another size', () => put('city.toml', 'a = 10')],
    ['a file of the same size, at once', () => put('city.toml', 'a = 2')],
    ['a file that appears', () => put('absent.toml')],
    ['an agent that appears', () => put('agents/b/agent.toml')],
    ['a file that goes', () => rm(path.join(root, 'city.toml'))],
    ['a digested file', () => put('skills/s/SKILL.md', 'two')],
    ['a file that appears deep below', () => put('skills/s/more.md')],
    ['a file that became a directory', () => rm(path.join(root, 'city.toml')).then(() => put('city.toml/x'))],
  ])('notices %s', async (_, change) => {
    const ledger = await seen();
    const stored = Ledger.from(ledger.toText(), '')!;
    await change();
    expect([await changedBothWays(ledger), await changedBothWays(stored)]).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  it('goes on as it was stored, with what it was made from only', async () => {
    const ledger = new Ledger('one');
    const reading = tree(ledger);
    await reading.read('city.toml');
    await reading.read('absent.toml');
    await reading.list('agents');
    await reading.read('link/o');
    const stored = Ledger.from(ledger.toText(), 'one')!;
    expect([stored.toText(), stored.signature(), stored.paths()]).toEqual([ledger.toText(), ledger.signature(), ledger.paths()]);
    // Once they are old enough, looking takes away what is known of their contents.
    expect(await stored.changed()).toBe(false);
    expect(stored.paths()).toMatchObject({ missing: [root], links: true });
    expect(Ledger.from(ledger.toText(), 'another')).toBeUndefined();
  });

  it('is what each ledger says that was stored, also where others have seen another state of the same files', () => {
    const line = (stamp: string, kind = 'f'): string => `\n${JSON.stringify([['/packs/a.toml', kind, stamp]])}`;
    const texts = [line('1'), line('2'), line('1'), line('1', 'd'), line('1')];
    expect(texts.map((text) => Ledger.from(text, '')!.toText())).toEqual(texts);
  });

  it('reads nothing again once what it has seen is settled', async () => {
    // As on a machine that reads it at once, however long this one takes.
    const { ctimeMs } = await stat(path.join(root, 'city.toml'));
    const now = jest.spyOn(Date, 'now').mockReturnValue(ctimeMs);
    const ledger = await seen().finally(() => now.mockRestore());
    expect(ledger.toText()).toMatch(/[0-9a-f]{64}/);
    await eventually(async () => {
      expect(await ledger.changed()).toBe(false);
      return !/[0-9a-f]{64}/.test(ledger.toText());
    });
    await put('city.toml', 'a = 2');
    expect(await ledger.changed()).toBe(true);
  });

  it('notices a change whose time was set back', async () => {
    const old = new Date(1_000_000_000_000);
    const at = await put('city.toml', 'a = 1');
    await utimes(at, old, old);
    const ledger = await seen();
    await put('city.toml', 'a = 2');
    await utimes(at, old, old);
    expect(await ledger.changed()).toBe(true);
  });

  it('notices a link that leads elsewhere', async () => {
    const ledger = new Ledger();
    await tree(ledger).read('link/o');
    expect(await ledger.changed()).toBe(false);
    await put('third/o');
    await rm(path.join(root, 'link'));
    await symlink('third', path.join(root, 'link'));
    expect(await changedBothWays(ledger)).toEqual([true, true]);
  });
});

describe('isSettled', () => {
  it.each([
    [1_000_000_001n, 50, 51],
    // A disk that counts in seconds.
    [1_000_000_000n, 5_000, 5_001],
  ])('takes what changed at %d for settled once another change has another time', (ctimeNs, soon, late) => {
    const at = Number(ctimeNs / 1_000_000n);
    expect([-late, -soon, 0, soon, late].map((ms) => isSettled({ ctimeNs }, at + ms))).toEqual([true, false, false, false, true]);
  });
});

describe('FileCache', () => {
  it('serves a file by its stamp and forgets what was used least recently', () => {
    const cache = new FileCache(2, 10);
    const known = (text: string): { stamp: string; sha256: string; text: string } => ({ stamp: 's', sha256: sha(text), text });
    cache.set('a', known('aaa'));
    cache.set('b', known('bbb'));
    expect(cache.get('a', 'other')).toBeUndefined();
    expect(cache.get('a', 's')?.text).toBe('aaa');
    cache.set('c', known('ccc'));
    expect(cache.get('b', 's')).toBeUndefined();
    cache.set('d', known('d'.repeat(9)));
    expect(cache.get('a', 's')).toBeUndefined();
    expect(cache.get('c', 's')).toBeUndefined();
    expect(cache.get('d', 's')).toBeDefined();
  });

  it('never answers with an old state of a file', async () => {
    const cache = new FileCache();
    for (let n = 0; n < 50; n++) {
      await put('city.toml', String(n % 10));
      expect(await new DiskTree(root, '', new Ledger(), { cache }).read('city.toml')).toBe(String(n % 10));
    }
  });

  it('keeps nothing in mind that may have changed while it was read', async () => {
    const cache = new FileCache();
    const ledger = new Ledger();
    const file = await put('agents/one');
    const folder = path.dirname(file);
    // It is read for so long that a change meanwhile, which may have left its stamp as it was, looks old.
    const changed = await stat(file, { bigint: true });
    let now = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => now);
    jest.spyOn(processPlaces, 'run').mockImplementation(async (at, work) => {
      now = Number((await stat(at, { bigint: true })).ctimeNs / 1_000_000n);
      const read = await work();
      now += 10_000;
      return read;
    });
    const disk = new DiskTree(root, '', ledger, { cache });
    await disk.list('agents');
    expect(cache.folder(folder)).toBeUndefined();
    await disk.read('agents/one');
    expect(cache.get(file, stampOf(changed))).toBeUndefined();
    const noted = JSON.parse(ledger.toText()) as string[][];
    for (const at of [folder, file]) expect(noted.find((line) => line[0] === at)).toHaveLength(4);
  });

  it('lists a folder as it was known while its stamp is that, and only so much of so many', async () => {
    const cache = new FileCache(10, 10, 1);
    const at = path.dirname(await put('agents/one'));
    const names = async (name = 'agents'): Promise<string[]> =>
      (await new DiskTree(root, '', new Ledger(), { cache }).list(name)).map((entry) => entry.name);
    const stamp = stampOf(await stat(at, { bigint: true }));
    cache.setFolder(at, { stamp, entries: [{ name: 'known', kind: 'file', isLink: false }] });
    expect(await names()).toEqual(['known']);
    await put('agents/two');
    // Whatever the grain of the clock of the disk.
    await utimes(at, 1, 1);
    expect(await names()).toEqual(['one', 'two']);
    await eventually(async () => (await names()).length === 2 && cache.folder(at) !== undefined);
    await put('other/one');
    await eventually(async () => (await names('other')).length === 1 && cache.folder(path.join(root, 'other')) !== undefined);
    expect(cache.folder(at)).toBeUndefined();
    cache.setFolder(at, { stamp, entries: Array.from({ length: 51 }, (_, n) => ({ name: `${n}`, kind: 'file', isLink: false })) });
    expect(cache.folder(at)).toBeUndefined();
  });

  it('keeps of folders only so many names in mind, however few folders they are', () => {
    const cache = new FileCache(10, 10, 10, 2_000);
    const folder = (names: number): KnownFolder => ({
      stamp: 's',
      entries: Array.from({ length: names }, () => ({ name: 'x'.repeat(136), kind: 'file', isLink: false })),
    });
    const known = (): string[] => ['/a', '/b', '/c'].filter((at) => cache.folder(at) !== undefined);
    for (let n = 0; n < 20; n++) cache.setFolder('/a', folder(4));
    cache.setFolder('/b', folder(5));
    expect(known()).toEqual(['/a', '/b']);
    cache.setFolder('/c', folder(4));
    expect(known()).toEqual(['/b', '/c']);
    cache.setFolder('/c', folder(10));
    expect(known()).toEqual([]);
  });

  it('keeps no folder of a network disk in mind', async () => {
    const cache = new FileCache();
    const at = path.dirname(await put('agents/one'));
    const known: KnownFolder = { stamp: stampOf(await stat(at, { bigint: true })), entries: [] };
    const names = async (): Promise<string[]> =>
      (await new DiskTree(root, '', new Ledger(), { cache }).list('agents')).map((entry) => entry.name);
    cache.setFolder(at, known);
    expect(await names()).toEqual([]);
    cache.isRemote = (asked) => asked === at;
    expect(await names()).toEqual(['one']);
    cache.setFolder(at, known);
    cache.isRemote = () => false;
    expect(await names()).toEqual(['one']);
  });

  it('never answers with an old state of a folder', async () => {
    const cache = new FileCache();
    for (let n = 1; n <= 50; n++) {
      await put(`agents/${n}`);
      expect(await new DiskTree(root, '', new Ledger(), { cache }).list('agents')).toHaveLength(n);
    }
  });
});
