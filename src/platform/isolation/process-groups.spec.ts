import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ProcessGroups } from './process-groups.js';
import { FakeGroups } from './testing/fake-groups.js';

const groups = process.platform === 'linux' ? await ProcessGroups.tryOn(20) : undefined;

describe('groups of processes', () => {
  it('are none where the service may make none', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-groups-'));
    expect(await ProcessGroups.tryOn(20, folder)).toBeUndefined();
    expect(await ProcessGroups.tryOn(20, path.join(folder, 'none'))).toBeUndefined();
    await rm(folder, { recursive: true });
  });

  describe('of the new kind', () => {
    const OWN = '/system.slice/svc.service';

    it('are made below a group that is the service’s, which goes into one of its own there', async () => {
      const kernel = new FakeGroups(OWN, ['1', '7']);
      const made = await ProcessGroups.tryOn(20, undefined, kernel.files);
      const file = await made!.make();
      expect(file).toMatch(new RegExp(`^/sys/fs/cgroup${OWN}/svc-sandbox-[-0-9a-f]+/cgroup.procs$`));
      const sandbox = file.slice('/sys/fs/cgroup'.length, -'/cgroup.procs'.length);
      expect(kernel.all).toEqual({ [OWN]: ['', undefined], [`${OWN}/svc-service`]: ['1 7', 'max'], [sandbox]: ['', '20'] });
      // Another process of the service begins where this one is.
      const again = await ProcessGroups.tryOn(30, undefined, kernel.files);
      expect(path.dirname(path.dirname(await again!.make()))).toBe(`/sys/fs/cgroup${OWN}`);
    });

    it('are none where the kernel refuses it, and everything is where it was', async () => {
      for (const refuses of [
        (file: string) => (file.endsWith('subtree_control') ? 'EBUSY' : undefined),
        (file: string, text: string) => (file.endsWith('svc-service/cgroup.procs') && text === '7' ? 'EACCES' : undefined),
        (file: string) => (file.endsWith('subtree_control') ? 'EACCES' : undefined),
      ]) {
        const kernel = new FakeGroups(OWN, ['1', '7'], refuses);
        expect(await ProcessGroups.tryOn(20, undefined, kernel.files)).toBeUndefined();
        expect(kernel.all[OWN]).toEqual(['1 7', undefined]);
        expect(kernel.all[`${OWN}/svc-service`]).toBeUndefined();
      }
    });
  });

  (groups === undefined ? it.skip : it)('are the kernel’s, one each time (skipped: none may be made here)', async () => {
    const [one, other] = [await groups!.make(), await groups!.make()];
    expect(one).not.toBe(other);
    expect([existsSync(one), existsSync(other)]).toEqual([true, true]);
  });
});
