import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ProcessGroups } from './process-groups.js';

const groups = process.platform === 'linux' ? await ProcessGroups.tryOn(20) : undefined;

describe('groups of processes', () => {
  it('are none where the service may make none', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-groups-'));
    expect(await ProcessGroups.tryOn(20, folder)).toBeUndefined();
    expect(await ProcessGroups.tryOn(20, path.join(folder, 'none'))).toBeUndefined();
    await rm(folder, { recursive: true });
  });

  (groups === undefined ? it.skip : it)('are the kernel’s, one each time (skipped: none may be made here)', async () => {
    const [one, other] = [await groups!.make(), await groups!.make()];
    expect(one).not.toBe(other);
    expect([existsSync(one), existsSync(other)]).toEqual([true, true]);
  });
});
