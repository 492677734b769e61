import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { applyPlan, EditConflict, hasFiles } from './edit-files.js';
import type { EditPlan } from './edit-plan.js';

let home: string;
let city: string;
const at = (file: string): string => path.join(city, file);
const plan: EditPlan = {
  id: 'edit-1',
  writes: [
    { path: 'a.toml', before: 'a = 1\n', after: 'a = 2\n' },
    { path: 'agents/new/agent.toml', before: null, after: 'b = 1\n' },
  ],
  removals: ['agents/old'],
};

beforeEach(async () => {
  home = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-away-')));
  city = path.join(home, 'city');
  await mkdir(at('agents/old'), { recursive: true });
  await writeFile(at('city.toml'), '[city]\n');
  await writeFile(at('a.toml'), 'a = 1\n');
});
afterEach(() => rm(home, { recursive: true }));

describe('the folder of a city that an edit is taken back in', () => {
  // Guard: taken back there, the edit would be forgotten, and what it has written in the city would count.
  it('is not there where only the edit has made something, when the volume went away meanwhile', async () => {
    let written = 0;
    const failing = applyPlan(city, plan, async () => {
      if (written++ > 0) return;
      await rename(city, path.join(home, 'away'));
      await mkdir(city);
    });
    await expect(failing).rejects.toThrow(EditConflict);
    expect(await hasFiles(city, plan)).toBe(false);
    expect(await hasFiles(path.join(home, 'away'), plan)).toBe(true);
  });

  it.each(['city.toml', 'a.toml', '.svc-edit-1.old.a.toml', '.svc-edit-1.undone.a.toml', '.gc/cache/removed/edit-1/agents/old'])(
    'is there with %s alone',
    async (file) => {
      await rm(city, { recursive: true });
      await mkdir(path.dirname(at(file)), { recursive: true });
      expect(await hasFiles(city, plan)).toBe(false);
      await writeFile(at(file), '');
      expect(await hasFiles(city, plan)).toBe(true);
    },
  );
});
