import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { applyPlan, EditConflict, forgetRemoved, undoPlan } from './edit-files.js';
import { hashOf, type EditPlan } from './edit-plan.js';

let city: string;
const at = (file: string): string => path.join(city, file);
const now = (file: string): Promise<string | undefined> => readFile(at(file), 'utf8').catch(() => undefined);
const plan = (text: string): EditPlan => ({ id: 'edit-1', writes: [], removals: ['a.toml'], removed: { 'a.toml': hashOf(text) } });

beforeEach(async () => {
  city = await mkdtemp(path.join(tmpdir(), 'svc-edit-'));
  await writeFile(at('a.toml'), 'a = 1\n');
});
afterEach(() => rm(city, { recursive: true }));

describe('a file that an edit takes away', () => {
  it('goes, comes back when the edit is taken back, and is given up with it', async () => {
    await applyPlan(city, plan('a = 1\n'), () => Promise.resolve());
    expect(await now('a.toml')).toBeUndefined();
    await undoPlan(city, plan('a = 1\n'));
    expect(await now('a.toml')).toBe('a = 1\n');
    await applyPlan(city, plan('a = 1\n'), () => Promise.resolve());
    await forgetRemoved(city, plan('a = 1\n'));
    await undoPlan(city, plan('a = 1\n'));
    expect(await now('a.toml')).toBeUndefined();
  });

  it('stays when somebody has saved it meanwhile', async () => {
    await expect(applyPlan(city, plan('a = 0\n'), () => Promise.resolve())).rejects.toThrow(EditConflict);
    expect(await now('a.toml')).toBe('a = 1\n');
  });

  it('is a conflict when it is not there', async () => {
    await rm(at('a.toml'));
    await expect(applyPlan(city, plan('a = 1\n'), () => Promise.resolve())).rejects.toThrow(EditConflict);
  });
});
