import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { sleep } from '../time/clock.js';
import { DirectoryInUse, lockDirectory, LockTimings, type DirectoryLock } from './lock.js';

const locks: DirectoryLock[] = [];
afterEach(async () => {
  for (const lock of locks.splice(0)) await lock.release();
  await removeFolders();
});
/** A number that no process has. */
const NOBODY = 2 ** 30;

describe('the lock of a data directory', () => {
  it('is held by one process, and given back once', async () => {
    const directory = await folder('svc-lock-');
    const first = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse);
    await first.release();
    locks.push(await lockDirectory(directory));
    await first.release();
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse);
  });

  it('is taken over at once where its process is gone', async () => {
    const directory = await folder('svc-lock-');
    await lockDirectory(directory).then((lock) => lock.release());
    for (const left of [{ pid: NOBODY }, { pid: process.pid, birth: 'earlier' }]) {
      await writeFile(join(directory, 'supervisor.lock'), JSON.stringify(left));
      await (await lockDirectory(directory)).release();
    }
  });

  // Guard: two servers on the same files.
  it('holds for another host and another container, which do not see the process of its holder', async () => {
    const directory = await folder('svc-lock-');
    const file = join(directory, 'supervisor.lock');
    locks.push(await lockDirectory(directory, { place: 'there', timings: new LockTimings({ touchMs: 20 }) }));
    // In the same file: what touches it goes on.
    await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), pid: NOBODY }));
    const said: string[] = [];
    const here = { place: 'here', timings: new LockTimings({ waitMs: 5_000 }), onStep: (what: string) => said.push(what) };
    await expect(lockDirectory(directory, here)).rejects.toThrow(/process \d+ of another host, or container,\) is running/);
    expect(said).toHaveLength(1);
  });

  it('is taken over from another place where nobody touches it, whoever has its number here', async () => {
    const directory = await folder('svc-lock-');
    await writeFile(join(directory, 'supervisor.lock'), JSON.stringify({ pid: process.pid, place: 'there' }));
    locks.push(await lockDirectory(directory, { place: 'here', timings: new LockTimings({ waitMs: 50 }) }));
  });

  // Guard: two servers on the same files.
  it.each([0, 5, 25, 100])('is taken over from another place by one of two that wait for it, %i ms apart', async (apart) => {
    const directory = await folder('svc-lock-');
    await writeFile(join(directory, 'supervisor.lock'), JSON.stringify({ pid: NOBODY, place: 'gone' }));
    const timings = new LockTimings({ waitMs: 1_000, touchMs: 20 });
    const one = lockDirectory(directory, { place: 'here', timings });
    const other = sleep(apart).then(() => lockDirectory(directory, { place: 'there', timings }));
    const ends = await Promise.allSettled([one, other]);
    locks.push(...ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : [])));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: expect.any(DirectoryInUse) });
    expect(await readdir(directory)).toEqual(['supervisor.lock']);
  });

  // These stand for the file of another user: root, who may run the tests, reads that.
  it.each<[string, (file: string) => Promise<unknown>]>([
    ['ELOOP', (file) => symlink(file, file)],
    ['EISDIR', (file) => mkdir(file)],
  ])('that cannot be read (%s) is told, with whose it is and what to do', async (code, left) => {
    const directory = await folder('svc-lock-');
    const file = join(directory, 'supervisor.lock');
    await left(file);
    const { uid } = await lstat(file);
    await expect(lockDirectory(directory)).rejects.toThrow(
      `cannot look at the lock ${file} (${code}), which UID ${uid} has left: remove it when no supervisor runs on this directory`,
    );
  });

  it('is not waited for by a start that is ended', async () => {
    const directory = await folder('svc-lock-');
    await writeFile(join(directory, 'supervisor.lock'), JSON.stringify({ pid: NOBODY, place: 'gone' }));
    const ended = new AbortController();
    const reason = new Error('stopped');
    const onStep = (): void => ended.abort(reason);
    const timings = new LockTimings({ waitMs: 600_000 });
    await expect(lockDirectory(directory, { place: 'here', timings, onStep, signal: ended.signal })).rejects.toBe(reason);
  });
});
