import { afterEach, expect, it } from '@jest/globals';
import { chmod, lchown, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { endPlacing, removeUnpacked, unpackedIn } from './placing.js';

afterEach(removeFolders);

// Guard: whoever has removed it to make room, or has put the cities back by hand, could start nothing any more.
it('is not to be done any more where what was unpacked is gone', async () => {
  const dataDir = await folder('svc-placing-');
  expect(await endPlacing({ dataDir }, 'this one', () => undefined)).toBe(false);
});

it('says where what was unpacked lies that cannot be read', async () => {
  const dataDir = await folder('svc-placing-');
  const unpacked = unpackedIn(dataDir, 'this one');
  await mkdir(join(unpacked, 'plan.json'), { recursive: true });
  const ended = endPlacing({ dataDir }, 'this one', () => undefined);
  await expect(ended).rejects.toThrow(`what is left of it in ${unpacked} cannot be put back: EISDIR`);
});

// Guard: each start ended with `Unexpected end of JSON input`, and nobody knew of what.
it.each(['', '{"cities":'])('says where what was unpacked lies whose plan is cut, as %j', async (text) => {
  const dataDir = await folder('svc-placing-');
  const unpacked = unpackedIn(dataDir, 'this one');
  await mkdir(unpacked);
  await writeFile(join(unpacked, 'plan.json'), text);
  const ended = endPlacing({ dataDir }, 'this one', () => undefined);
  await expect(ended).rejects.toThrow(`what is left of it in ${unpacked} cannot be put back: plan.json is not whole`);
  await expect(ended).rejects.toThrow('or put it back by hand and remove that folder');
});

// Guard: one that was killed left half of it under its name, which whoever went on took for that of the host.
it('gives host.toml its name once it is whole', async () => {
  const dataDir = await folder('svc-placing-');
  const unpacked = unpackedIn(dataDir, 'this one');
  await mkdir(unpacked);
  await writeFile(join(unpacked, 'plan.json'), '{}');
  await writeFile(join(unpacked, 'host.toml'), 'all of it');
  await mkdir(join(dataDir, 'host.toml.new'));
  const ended = (): Promise<boolean> => endPlacing({ dataDir }, 'this one', () => undefined);
  await expect(ended()).rejects.toThrow('host.toml is not: ');
  expect((await readdir(dataDir)).sort()).toEqual(['host.toml.new', 'restore.new-this one']);
  await rmdir(join(dataDir, 'host.toml.new'));
  expect(await ended()).toBe(true);
  expect([await readFile(join(dataDir, 'host.toml'), 'utf8'), (await stat(join(dataDir, 'host.toml'))).mode & 0o777]).toEqual([
    'all of it',
    0o600,
  ]);
});

it('leaves nothing of what others have unpacked, an earlier release included', async () => {
  const dataDir = await folder('svc-placing-');
  for (const name of ['restore.new', 'restore.new-one', 'restore.new-two', 'cities']) await mkdir(join(dataDir, name));
  await writeFile(join(dataDir, 'restore-begun'), '');
  await removeUnpacked(dataDir, 'two');
  expect((await readdir(dataDir)).sort()).toEqual(['cities', 'restore-begun', 'restore.new-two']);
});

// Guard: a start that had put all back died of `rm`, and each restore after it. As root it proves something only as somebody else.
it('keeps no folder of cities that nothing may be taken out of', async () => {
  const dataDir = await folder('svc-placing-');
  const kept = join(dataDir, 'restore.new-one', 'kept');
  await mkdir(kept, { recursive: true });
  await writeFile(join(kept, 'module'), '');
  const user = 65_534;
  const isRoot = process.getuid!() === 0;
  if (isRoot) for (const at of [dataDir, join(dataDir, 'restore.new-one'), kept, join(kept, 'module')]) await lchown(at, user, user);
  await chmod(kept, 0o555);
  if (isRoot) process.seteuid!(user);
  try {
    await removeUnpacked(dataDir, undefined);
  } finally {
    if (isRoot) process.seteuid!(0);
  }
  expect(await readdir(dataDir)).toEqual([]);
});
