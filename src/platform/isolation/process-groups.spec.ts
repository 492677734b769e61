import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ProcessGroups } from './process-groups.js';
import { FakeGroups } from './testing/fake-groups.js';

const LIMITS = { processes: 20, memory: 64 * 1024 ** 2 };
const groups = process.platform === 'linux' ? await ProcessGroups.tryOn(LIMITS) : undefined;

describe('groups of processes', () => {
  it('are none where the service may make none', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-groups-'));
    expect(await ProcessGroups.tryOn(LIMITS, folder)).toBeUndefined();
    expect(await ProcessGroups.tryOn(LIMITS, path.join(folder, 'none'))).toBeUndefined();
    await rm(folder, { recursive: true });
  });

  describe('of the new kind', () => {
    const OWN = '/system.slice/svc.service';

    it('are made below a group that is the service’s, which goes into one of its own there', async () => {
      const kernel = new FakeGroups(OWN, ['1', '7']);
      const made = await ProcessGroups.tryOn(LIMITS, undefined, kernel.files);
      const { file } = await made!.make();
      expect(file).toMatch(new RegExp(`^/sys/fs/cgroup${OWN}/svc-sandbox-[-0-9a-f]+/cgroup.procs$`));
      const sandbox = file.slice('/sys/fs/cgroup'.length, -'/cgroup.procs'.length);
      expect(kernel.all).toEqual({
        ...{ [OWN]: ['', {}], [`${OWN}/svc-service`]: ['1 7', { 'pids.max': 'max' }], [sandbox]: ['', { 'pids.max': '20' }] },
      });
      await kernel.files.writeFile(file, '9');
      // Another process of the service begins where this one is.
      const again = await ProcessGroups.tryOn({ ...LIMITS, processes: 30 }, undefined, kernel.files);
      expect(path.dirname(path.dirname((await again!.make()).file))).toBe(`/sys/fs/cgroup${OWN}`);
    });

    it('limit what has been delegated to it', async () => {
      const kernel = new FakeGroups(OWN, ['1', '7'], ['cpu', 'io', 'memory', 'pids']);
      const made = await ProcessGroups.tryOn({ ...LIMITS, cpus: 1.5 }, undefined, kernel.files);
      expect([...made!.counted].sort()).toEqual(['cpu', 'memory', 'pids']);
      const { file } = await made!.make();
      expect(kernel.all[path.dirname(file).slice('/sys/fs/cgroup'.length)]![1]).toMatchObject({
        ...{
          'pids.max': '20',
          'memory.max': String(LIMITS.memory),
          'memory.oom.group': '1',
          'cpu.weight': '33',
          'cpu.max': '150000 100000',
        },
      });
      const free = await ProcessGroups.tryOn(LIMITS, undefined, new FakeGroups(OWN, ['1'], ['cpu']).files);
      expect([...free!.counted]).toEqual(['cpu']);
    });

    // Guard: what has happened in a group is known when that is gone.
    it('tell what the kernel has ended for want of memory, also when they are gone', async () => {
      let passed = 0;
      const kernel = new FakeGroups(OWN, ['1'], ['memory']);
      const made = await ProcessGroups.tryOn(LIMITS, undefined, kernel.files, () => Date.now() + passed);
      const [well, starved] = [await made!.make(), await made!.make()];
      const name = path.dirname(starved.file).slice('/sys/fs/cgroup'.length);
      expect([await well.ranOutOfMemory(), await starved.ranOutOfMemory()]).toEqual([false, false]);
      kernel.killForMemory(name);
      expect([await well.ranOutOfMemory(), await starved.ranOutOfMemory()]).toEqual([false, true]);
      passed = 61_000;
      await made!.make();
      expect(kernel.all[name]).toBeUndefined();
      expect([await well.ranOutOfMemory(), await starved.ranOutOfMemory()]).toEqual([false, true]);
    });

    it('are none in the group of somebody who has logged in, where other things are', async () => {
      const login = '/user.slice/user-0.slice/session-3.scope';
      const kernel = new FakeGroups(login, ['1', '7']);
      expect(await ProcessGroups.tryOn(LIMITS, undefined, kernel.files)).toBeUndefined();
      expect(kernel.all).toEqual({ [login]: ['1 7', {}] });
    });

    it('are none where the kernel refuses it, and everything is where it was', async () => {
      for (const refuses of [
        (file: string) => (file.endsWith('subtree_control') ? 'EBUSY' : undefined),
        (file: string, text: string) => (file.endsWith('svc-service/cgroup.procs') && text === '7' ? 'EACCES' : undefined),
        (file: string) => (file.endsWith('subtree_control') ? 'EACCES' : undefined),
      ]) {
        const kernel = new FakeGroups(OWN, ['1', '7'], ['pids'], refuses);
        expect(await ProcessGroups.tryOn(LIMITS, undefined, kernel.files)).toBeUndefined();
        expect(kernel.all[OWN]).toEqual(['1 7', {}]);
        expect(kernel.all[`${OWN}/svc-service`]).toBeUndefined();
      }
    });
  });

  (groups === undefined ? it.skip : it)('are the kernel’s, one each time (skipped: none may be made here)', async () => {
    const [{ file: one }, { file: other }] = [await groups!.make(), await groups!.make()];
    expect(one).not.toBe(other);
    expect([existsSync(one), existsSync(other)]).toEqual([true, true]);
  });
});
