import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { StartError } from '../port.js';
import { layOver, type Moment } from './overlay.js';
import type { OverlayFile } from './preparation.js';

const never = new AbortController().signal;
let place: string;
let source: string;
let ledger: string;
beforeEach(async () => {
  const root = await folder('svc-overlay-');
  [place, source, ledger] = ['place', 'source', 'ledger/l.json'].map((name) => path.join(root, name)) as [string, string, string];
  await mkdir(place);
});
afterAll(removeFolders);

async function file(name: string, text: string): Promise<OverlayFile> {
  const at = path.join(source, name);
  await mkdir(path.dirname(at), { recursive: true });
  await writeFile(at, text);
  return { path: name, source: at, sha256: createHash('sha256').update(text).digest('hex') };
}
const lay = (...files: OverlayFile[]): Promise<void> => layOver(files, place, ledger, never);
const at = (name: string): string => path.join(place, name);
const text = (name: string): Promise<string> => readFile(at(name), 'utf8');

describe('an overlay', () => {
  it('lies where it belongs, with its folders and what may be run', async () => {
    const script = await file('bin/go.sh', 'true');
    await chmod(script.source, 0o700);
    await lay(script, await file('.tool/deep/settings.json', '{}'));
    expect(await text('.tool/deep/settings.json')).toBe('{}');
    expect([(await stat(at('bin/go.sh'))).mode & 0o111, (await stat(at('.tool/deep/settings.json'))).mode & 0o111]).toEqual([0o111, 0]);
    expect(await readdir(at('bin'))).toEqual(['go.sh']);
  });

  it('is laid anew where only we have had it, and left alone where somebody has changed it', async () => {
    await lay(await file('ours', 'one'), await file('theirs', 'one'), await file('touched', 'one'), await file('gone', 'one'));
    await writeFile(at('theirs'), 'own');
    await utimes(at('touched'), 1, 1);
    await rm(at('gone'));
    await lay(await file('ours', 'two'), await file('theirs', 'two'), await file('touched', 'two'), await file('gone', 'two'));
    expect(await Promise.all(['ours', 'theirs', 'touched', 'gone'].map(text))).toEqual(['two', 'own', 'two', 'two']);
    await lay(await file('ours', 'three'));
    expect(await text('ours')).toBe('three');
  });

  // Guard: an agent makes a file of terabytes in no time, and a start that reads it never ends.
  it('is not read to its end where that is far away, and not further once the start is called off', async () => {
    const long = await file('long', 'short');
    await truncate(long.source, 15 * 1024 ** 4);
    await expect(lay(long)).rejects.toMatchObject({ failure: 'timeout' });
    await writeFile(at('long'), '');
    await truncate(at('long'), 15 * 1024 ** 4);
    await lay(long);
    expect((await stat(at('long'))).size).toBe(15 * 1024 ** 4);
    const large = await file('large', 'short');
    await truncate(large.source, 200 * 1024 ** 2);
    const off = new AbortController();
    const laid = layOver([large], place, ledger, off.signal, async (moment) => {
      if (moment === 'found') off.abort();
    });
    await expect(laid).rejects.toMatchObject({ failure: 'aborted' });
  });

  it('keeps what was there before it, also when nobody can read what is remembered', async () => {
    await writeFile(at('kept'), 'mine');
    await lay(await file('kept', 'new'));
    expect(await text('kept')).toBe('mine');
    await mkdir(path.dirname(ledger), { recursive: true });
    await writeFile(ledger, '{"kept":null}');
    await lay(await file('kept', 'also'));
    expect(await text('kept')).toBe('mine');
  });

  it('goes through no link and over no folder', async () => {
    const outside = await folder('svc-outside-');
    await symlink(outside, at('linked'));
    await symlink(path.join(outside, 'target'), at('file'));
    await mkdir(at('folder'));
    await writeFile(at('blocked'), 'a file');
    await lay(
      await file('linked/in', 'x'),
      await file('file', 'x'),
      await file('folder', 'x'),
      { ...(await file('other', 'x')), path: 'blocked/in' },
      await file('last', 'x'),
    );
    expect(await readdir(outside)).toEqual([]);
    expect((await lstat(at('file'))).isSymbolicLink()).toBe(true);
    expect([await text('blocked'), await text('last')]).toEqual(['a file', 'x']);
  });

  /** An agent that is as fast as can be, once: between the look and what follows from it. */
  const laidWhile = async (change: () => Promise<void>, files: OverlayFile[], moment: Moment = 'found'): Promise<Moment[]> => {
    const seen: Moment[] = [];
    await layOver(files, place, ledger, never, async (one) => {
      seen.push(one);
      if (one === moment && seen.filter((each) => each === moment).length === 1) await change();
    });
    return seen;
  };

  it.each(['found', 'copies'] as const)('goes through no link that is made meanwhile: %s', async (moment) => {
    const outside = await folder('svc-outside-');
    await writeFile(path.join(outside, 'kept'), 'theirs');
    const swap = async (name: string): Promise<void> => {
      await rename(name, `${name}.old`);
      await symlink(outside, name);
    };
    await laidWhile(() => swap(at('one/deep')), [await file('one/deep/a', 'x'), await file('one/deep/b', 'x')], moment);
    expect((await readdir(at('one/deep.old'))).sort()).toEqual(['a', 'b']);
    await laidWhile(() => swap(at('two')), [await file('two/deep/a', 'x'), await file('two/b', 'x')], moment);
    expect((await readdir(at('two.old'))).sort()).toEqual(['b', 'deep']);
    await laidWhile(() => swap(place), [await file('c', 'x'), await file('folder/d', 'x')], moment);
    expect(await readdir(`${place}.old`)).toEqual(expect.arrayContaining(['c', 'folder']));
    expect(await readdir(outside)).toEqual(['kept']);
    await expect(lay(await file('e', 'x'))).rejects.toMatchObject({
      failure: 'unsupported',
      message: expect.stringContaining('is a link'),
    });
  });

  it('writes nothing through a file that is made a link meanwhile', async () => {
    const outside = path.join(await folder('svc-outside-'), 'file');
    await writeFile(outside, 'theirs');
    await laidWhile(() => symlink(outside, at('new')), [await file('new', 'x')], 'copies');
    await lay(await file('old', 'one'));
    const swap = async (): Promise<void> => {
      await rm(at('old'));
      await symlink(outside, at('old'));
    };
    await laidWhile(swap, [await file('old', 'two')], 'copies');
    expect([await readFile(outside, 'utf8'), await text('old')]).toEqual(['theirs', 'two']);
    expect(await readdir(place)).toEqual(['new', 'old']);
  });

  it('brings nothing of what its own files are made links to meanwhile', async () => {
    const secret = path.join(await folder('svc-outside-'), 'secret');
    await writeFile(secret, 'of the service');
    const ours = await file('a', 'one');
    const seen: Moment[] = [];
    const swap = async (moment: Moment): Promise<void> => {
      seen.push(moment);
      await rm(ours.source);
      await symlink(secret, ours.source);
    };
    await expect(layOver([ours], place, ledger, never, swap)).rejects.toMatchObject({ message: expect.stringContaining('has changed') });
    // Not even for the moment that it takes to see that it is another file.
    expect(seen).toEqual(['found']);
    const pipe = await file('b', 'one');
    await rm(pipe.source);
    execFileSync('mkfifo', [pipe.source]);
    await expect(lay(pipe)).rejects.toMatchObject({ message: expect.stringContaining('has changed') });
    expect(await readdir(place)).toEqual([]);
  });

  it('does not write what is there', async () => {
    const files = [await file('a', 'one'), await file('b/c', 'two')];
    await lay(...files);
    const before = await Promise.all([at('a'), at('b/c'), ledger].map((name) => stat(name)));
    await lay(...files);
    const after = await Promise.all([at('a'), at('b/c'), ledger].map((name) => stat(name)));
    expect(after.map(({ ino, mtimeMs }) => [ino, mtimeMs])).toEqual(before.map(({ ino, mtimeMs }) => [ino, mtimeMs]));
  });

  it('is laid by several at once', async () => {
    const files = await Promise.all(Array.from({ length: 20 }, (_, n) => file(`f${n}`, `text ${n}`)));
    await Promise.all(Array.from({ length: 8 }, () => lay(...files)));
    expect((await readdir(place)).sort()).toEqual(files.map(({ path: name }) => name).sort());
    await lay(...(await Promise.all(files.map(({ path: name }) => file(name, 'new')))));
    expect(await text('f7')).toBe('new');
  });

  it('is not what nobody has looked at', async () => {
    const changed = await file('a', 'one');
    await writeFile(changed.source, 'something else');
    const error = await lay(changed).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ failure: 'timeout', message: expect.stringContaining('has changed') });
    expect(await readdir(place)).toEqual([]);
    await expect(layOver([changed], place, ledger, AbortSignal.abort())).rejects.toMatchObject({ failure: 'aborted' });
  });
});
