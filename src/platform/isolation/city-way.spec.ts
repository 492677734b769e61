import { chmod, mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { isolationOf } from './testing/isolation.js';

let base: string;
beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-way-')));
  await chmod(base, 0o711);
  const { cities, sessions } = USER_NUMBERS;
  const range = ({ first, count }: typeof cities): string => `{ first = ${first}, count = ${count} }`;
  await mkdir(path.join(base, 'cities/port'), { recursive: true });
  await writeFile(path.join(base, 'host.toml'), `[users]\ncities = ${range(cities)}\nsessions = ${range(sessions)}\n`);
});
afterAll(() => rm(base, { recursive: true }));

/** What others may do with a file that is made now. */
async function forOthers(): Promise<number> {
  const file = path.join(base, `made-${Math.random()}`);
  await writeFile(file, '');
  return (await stat(file)).mode & 0o007;
}

(process.getuid?.() === 0 ? describe : describe.skip)('the way to the cities (skipped: not root)', () => {
  it('closes what is made while it is open, and nothing once the last one is left, in whatever order', async () => {
    const before = await forOthers();
    expect(before).toBeGreaterThan(0);
    const [first, second] = [isolationOf(base, 'users'), isolationOf(base, 'users')];
    await Promise.all([first.found(), second.found()]);
    expect(await forOthers()).toBe(0);
    first.onApplicationShutdown();
    first.onApplicationShutdown();
    expect(await forOthers()).toBe(0);
    second.onApplicationShutdown();
    expect(await forOthers()).toBe(before);
  });
});
