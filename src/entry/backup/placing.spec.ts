import { afterEach, expect, it } from '@jest/globals';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
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

it('leaves nothing of what others have unpacked, an earlier release included', async () => {
  const dataDir = await folder('svc-placing-');
  for (const name of ['restore.new', 'restore.new-one', 'restore.new-two', 'cities']) await mkdir(join(dataDir, name));
  await writeFile(join(dataDir, 'restore-begun'), '');
  await removeUnpacked(dataDir, 'two');
  expect((await readdir(dataDir)).sort()).toEqual(['cities', 'restore-begun', 'restore.new-two']);
});
