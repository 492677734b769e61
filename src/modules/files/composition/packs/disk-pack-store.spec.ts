import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiskTree } from '../trees/disk-tree.js';
import type { FileTree } from '../trees/file-tree.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
const NOT_HERE = 'there is no such directory, or it belongs to another city';
import { DiskPackStore } from './disk-pack-store.js';
import type { FoundPack } from './pack-store.js';

let base: string;
let citiesRoot: string;
let city: DiskTree;
let store: DiskPackStore;

async function pack(at: string): Promise<void> {
  await mkdir(at, { recursive: true });
  await writeFile(path.join(at, 'pack.toml'), `name = "${path.basename(at)}"`);
}

function storeOf(tree: DiskTree, root: string): DiskPackStore {
  return new DiskPackStore({ city: tree, cityDir: tree.root, citiesRoot: root, ledger: tree.ledger, builtin: path.join(base, 'builtin') });
}

beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'store-'));
  citiesRoot = path.join(base, 'cities');
  await pack(path.join(citiesRoot, 'north/packs/desk'));
  await pack(path.join(citiesRoot, 'north/packs/other'));
  await pack(path.join(citiesRoot, 'shared/tools'));
  await pack(path.join(base, 'outside'));
  await pack(path.join(base, 'builtin/core'));
  city = new DiskTree(path.join(citiesRoot, 'north'));
  store = storeOf(city, citiesRoot);
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function found(source: string, from: FileTree = city, folder = ''): Promise<FoundPack> {
  const answer = await store.find({ source, version: undefined, from, folder });
  if ('missing' in answer) throw new Error(answer.missing);
  return answer;
}

async function missing(source: string, from: FileTree = city, folder = ''): Promise<string> {
  const answer = await store.find({ source, version: undefined, from, folder });
  return 'missing' in answer ? answer.missing : `found ${answer.id}`;
}

describe('DiskPackStore', () => {
  it('finds packs of the city and of the cities root, one however it is named', async () => {
    const desk = await found('packs/desk');
    expect(desk).toMatchObject({ id: 'packs/desk', folder: '', version: undefined, commit: undefined });
    expect(desk.tree.label).toBe('packs/desk');
    expect(await desk.tree.read('pack.toml')).toBe('name = "desk"');
    expect(await found('./packs/../packs/desk/')).toBe(desk);
    expect(await found('desk', city, 'packs')).toBe(desk);
    expect(await found(path.join(citiesRoot, 'north/packs/desk'))).toBe(desk);
    expect((await found('../shared/tools')).id).toBe('../shared/tools');
    // What an edit would leave behind is the city, too.
    expect(await found('packs/desk', new MemoryTree({}))).toBe(desk);
  });

  it('counts the sources of a pack from the pack', async () => {
    const desk = await found('packs/desk');
    expect((await found('../other', desk.tree)).id).toBe('packs/other');
    expect((await found('../../../shared/tools', desk.tree)).id).toBe('../shared/tools');
    const core = await found('builtin:core');
    expect(await core.tree.read('pack.toml')).toBe('name = "core"');
    expect(await missing('../../outside', core.tree)).toMatch(/inside the packs that are shipped/);
    expect(await missing(path.join(citiesRoot, 'shared/tools'), core.tree)).toMatch(/inside the packs that are shipped/);
  });

  it('finds nothing in another city, through links neither, and sees that a directory has become one', async () => {
    await pack(path.join(citiesRoot, 'south/packs/secret'));
    await pack(path.join(citiesRoot, 'south'));
    await writeFile(path.join(citiesRoot, 'south/city.toml'), '');
    await symlink(path.join(citiesRoot, 'south/packs/secret'), path.join(citiesRoot, 'north/packs/taken'));
    for (const source of ['../south', '../south/packs/secret', path.join(citiesRoot, 'south/packs/secret'), 'packs/taken'])
      expect(await missing(source)).toBe(NOT_HERE);
    const desk = await found('packs/desk');
    expect(await missing('../../../south/packs/secret', desk.tree)).toBe(NOT_HERE);

    await found('../shared/tools');
    expect(await city.ledger.changed()).toBe(false);
    await writeFile(path.join(citiesRoot, 'shared/city.toml'), '');
    expect(await city.ledger.changed()).toBe(true);
    expect(await storeOf(new DiskTree(path.join(citiesRoot, 'north')), citiesRoot).find({ source: '../shared/tools', version: undefined, from: city, folder: '' })).toEqual({ missing: NOT_HERE }); // prettier-ignore
  });

  it('finds nothing outside, through links neither', async () => {
    expect(await missing('../../outside')).toMatch(/inside the cities root/);
    expect(await missing(path.join(base, 'outside'))).toMatch(/inside the cities root/);
    expect(await missing('../..')).toMatch(/inside the cities root/);
    await symlink(path.join(base, 'outside'), path.join(citiesRoot, 'north/packs/out'));
    expect(await missing('packs/out')).toMatch(/inside the cities root/);
    await symlink('desk', path.join(citiesRoot, 'north/packs/alias'));
    expect((await found('packs/alias')).id).toBe('packs/desk');
    await pack(path.join(citiesRoot, 'north/.gc/x'));
    expect(await missing('.gc/x')).toMatch(/holds no packs/);
  });

  it('says what is missing, and its appearance shows in the ledger', async () => {
    expect(await missing('packs/none')).toBe(NOT_HERE);
    expect(await missing('packs/desk/pack.toml')).toBe(NOT_HERE);
    expect(await missing('builtin:none')).toBe('no pack is shipped under the name none');
    expect(await missing('https://user:secret@example.org/x')).toMatch(/^the source cannot be used: it names a user/);
    expect(await missing('https://example.org/x')).toMatch(/not in packs.lock/);
    expect(await city.ledger.changed()).toBe(false);
    await pack(path.join(citiesRoot, 'north/packs/none'));
    expect(await city.ledger.changed()).toBe(true);
  });

  it('takes the configured spelling of a cities root that is a link', async () => {
    await symlink('cities', path.join(base, 'alias'));
    const spelled = path.join(base, 'alias');
    store = storeOf(new DiskTree(path.join(spelled, 'north')), spelled);
    expect((await found(path.join(spelled, 'shared/tools'))).id).toBe('../shared/tools');
    expect((await found('packs/desk')).id).toBe('packs/desk');
  });
});
