import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ThreadOptions, Threads } from '../../../platform/threads/threads.js';
import { FILE_BYTES } from '../../files/composition/toml/parse.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { filesOf } from './documents.js';
import { Draft } from './draft.js';
import { TomlWork } from './toml-work.js';

let city: string;
beforeEach(async () => {
  city = await folder('svc-draft-');
});
const threads = new Threads(new ThreadOptions());
afterAll(removeFolders);
afterAll(() => threads.stop());

async function edit(text: string): Promise<string | undefined> {
  await writeFile(path.join(city, 'city.toml'), text);
  const draft = new Draft({} as CityConfig, new DiskTree(city), new TomlWork(threads, 'alpha'));
  await draft.edit('city.toml', (document) => void (document.added = 1));
  return draft.text('city.toml');
}

it('edits look into a file that is included over and over once, and into only so many', () => {
  const own = ['pack.toml', 'city.toml'];
  expect(filesOf({ include: ['a.toml', './a.toml', '//a.toml', '../b.toml', 'c/d.toml'] })).toEqual([...own, 'a.toml', 'c/d.toml']);
  expect(filesOf({ include: Array.from({ length: 20_000 }, (_, n) => `f${n}.toml`) })).toHaveLength(102);
});

describe('an edit', () => {
  it('changes a file', async () => {
    expect(await edit('# mine\na = 1\n')).toBe('# mine\na = 1\nadded = 1\n');
  });

  it.each([
    ['is larger than a city reads', `#${'x'.repeat(FILE_BYTES)}\na = 1\n`, 'city.toml is larger than 262144 bytes'],
    ['has more values', `a = [${'1,'.repeat(20_001)}]\n`, 'city.toml is one of more than 20000 values'],
    ['does not parse', 'a = 1\n[workspace\n', 'city.toml does not parse (line 2); mend it first'],
  ])('is refused for a file that %s', async (_what, text, detail) => {
    await expect(edit(text)).rejects.toMatchObject({ problem: 'wrong_state', detail: expect.stringContaining(detail) });
  });
});
