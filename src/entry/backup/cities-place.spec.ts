import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { chown, lstat, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { citiesPlace } from './cities-place.js';

const MEMORY = '/dev/shm';
const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev;
const isAnother = deviceOf(MEMORY) !== undefined && deviceOf(MEMORY) !== deviceOf(tmpdir());

(isAnother ? describe : describe.skip)('cities on another file system (skipped: there is none)', () => {
  let from: string;
  let there: string;
  beforeEach(async () => {
    from = await mkdtemp(join(tmpdir(), 'svc-place-'));
    there = await mkdtemp(join(MEMORY, 'svc-place-'));
  });
  afterEach(async () => {
    for (const folder of [from, there]) await rm(folder, { recursive: true, force: true });
  });

  // Guard: a pipe, which any agent may make, ends a restore whose database is replaced already.
  it('are put there with their pipes, owners and holes', async () => {
    const [works, root] = [join(from, 'cities', 'works'), join(there, 'cities')];
    await mkdir(works, { recursive: true });
    await writeFile(join(works, 'city.toml'), 'monday');
    execFileSync('mkfifo', [join(works, 'pipe')]);
    execFileSync('truncate', ['--size=1G', join(works, 'image')]);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(join(works, 'city.toml'), 1234, 1234);
    const put = await citiesPlace(root, 'now', () => undefined);
    await put(join(from, 'cities'));
    const at = (name: string) => lstat(join(root, 'works', name));
    expect(await readFile(join(root, 'works', 'city.toml'), 'utf8')).toBe('monday');
    expect((await at('pipe')).isFIFO()).toBe(true);
    expect((await at('city.toml')).uid).toBe(isRoot ? 1234 : process.getuid!());
    expect((await at('image')).size).toBe(1024 ** 3);
    expect((await at('image')).blocks).toBeLessThan(1000);
  });
});
