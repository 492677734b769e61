import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateNamed, readNamedFile } from './named-file.js';

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-named-')));
  await put('one/city.toml', '');
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), text);
}

describe('a named file', () => {
  const roots = () => ({ cityPath: path.join(root, 'one'), citiesRoot: root });
  const readNamed = (name: string) => readNamedFile(name, {}, roots());

  it('is one of the city or of a pack beside the cities', async () => {
    await put('one/prompt.md', 'own');
    await put('shared/prompt.md', 'of a pack');
    expect(await readNamed('prompt.md')).toBe('own');
    expect(await readNamed('../shared:prompt.md')).toBe('of a pack');
    expect(await locateNamed('../shared:prompt.md', roots())).toBe(path.join(root, 'shared/prompt.md'));
  });

  it('is never one of another city, also where a pack was before', async () => {
    await put('two/packs/p/prompt.md', 'of a pack');
    expect(await readNamed('../two/packs/p:prompt.md')).toBe('of a pack');
    await put('two/city.toml', '');
    await symlink(path.join(root, 'two/packs/p'), path.join(root, 'link'));
    for (const name of ['../two:city.toml', '../two/packs/p:prompt.md', '../link:prompt.md']) {
      expect([name, await readNamed(name), await locateNamed(name, roots())]).toEqual([name, undefined, undefined]);
    }
  });

  it('is never one of a directory that somebody else has by now, whatever its files say', async () => {
    await put('shared/yard/prompt.md', 'of a rig');
    const isOthers = (directory: string): Promise<boolean> => Promise.resolve(directory === path.join(root, 'shared/yard'));
    expect(await readNamedFile('../shared/yard:prompt.md', {}, roots())).toBe('of a rig');
    expect(await readNamedFile('../shared/yard:prompt.md', {}, { ...roots(), isOthers })).toBeUndefined();
    expect(await locateNamed('../shared/yard:prompt.md', { ...roots(), isOthers })).toBeUndefined();
  });

  it('never lies outside', async () => {
    await put('one/prompt.md', 'own');
    for (const name of ['../prompt.md', '..:one/prompt.md', '../..:etc/passwd', 'gone.md', '../gone:prompt.md'])
      expect([name, await readNamed(name), await locateNamed(name, roots())]).toEqual([name, undefined, undefined]);
  });
});
