import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { placeCities, planCities, type CitiesPlan } from './cities-place.js';

const MEMORY = '/dev/shm';
const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev;
const isAnother = deviceOf(MEMORY) !== undefined && deviceOf(MEMORY) !== deviceOf(tmpdir());

let from: string;
let there: string;
beforeEach(async () => {
  from = await mkdtemp(join(tmpdir(), 'svc-place-'));
  there = await mkdtemp(join(isAnother ? MEMORY : tmpdir(), 'svc-place-'));
});
afterEach(async () => {
  for (const folder of [from, there]) await rm(folder, { recursive: true, force: true });
});

const kept = (): Promise<void> => Promise.resolve();
const told = (): void => undefined;

(isAnother ? describe : describe.skip)('cities on another file system (skipped: there is none)', () => {
  // Guard: a pipe, which any agent may make, ends a restore whose database is replaced already.
  it('are put there with their pipes, owners and holes', async () => {
    const [works, root] = [join(from, 'cities', 'works'), join(there, 'cities')];
    await mkdir(works, { recursive: true });
    await writeFile(join(works, 'city.toml'), 'monday');
    execFileSync('mkfifo', [join(works, 'pipe')]);
    execFileSync('truncate', ['--size=1G', join(works, 'image')]);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(join(works, 'city.toml'), 1234, 1234);
    await placeCities(await planCities(root, 'now'), join(from, 'cities'), kept, told);
    const at = (name: string) => lstat(join(root, 'works', name));
    expect(await readFile(join(root, 'works', 'city.toml'), 'utf8')).toBe('monday');
    expect((await at('pipe')).isFIFO()).toBe(true);
    expect((await at('city.toml')).uid).toBe(isRoot ? 1234 : process.getuid!());
    expect((await at('image')).size).toBe(1024 ** 3);
    expect((await at('image')).blocks).toBeLessThan(1000);
  });

  // Guard: it said nothing meanwhile, which may be an hour.
  it('are told of before they are copied, and stay as they are where all of it was done', async () => {
    const root = join(there, 'cities');
    await mkdir(join(from, 'cities', 'works'), { recursive: true });
    let plan = await planCities(root, 'now');
    const said: string[] = [];
    const put = (): Promise<void> =>
      placeCities(
        plan,
        join(from, 'cities'),
        (next) => Promise.resolve(void (plan = next)),
        (line) => said.push(line),
      );
    await put();
    await put();
    expect(said).toEqual([`copying ${join(from, 'cities')} to ${root}, which is on another file system`]);
  });

  // Guard: half of a city would be taken for the whole of it.
  it('have their names only once all of them is there', async () => {
    const [bin, root] = [join(from, 'bin'), join(there, 'cities')];
    for (const name of ['one', 'two']) await mkdir(join(from, 'cities', name), { recursive: true });
    await mkdir(bin);
    const plan = await planCities(root, 'now');
    const { PATH } = process.env;
    await writeFile(join(bin, 'cp'), '#!/bin/sh\nmkdir -p "$3/one"\nexit 1\n');
    await chmod(join(bin, 'cp'), 0o755);
    process.env.PATH = `${bin}:${PATH}`;
    try {
      await expect(placeCities(plan, join(from, 'cities'), kept, told)).rejects.toThrow('cp failed');
    } finally {
      process.env.PATH = PATH;
    }
    expect(await readdir(there)).toEqual([]);
    await placeCities(plan, join(from, 'cities'), kept, told);
    expect([await readdir(there), (await readdir(root)).sort()]).toEqual([['cities'], ['one', 'two']]);
  });
});

// Guard: a city of before would stay in the place of one that is restored, or one that is restored would be moved aside as one of before.
describe.each([
  ['as a whole', 'cities'],
  ['inside of a folder that may not be renamed', 'c'.repeat(250)],
])('cities that are replaced %s', (_, name) => {
  const ended = new Error('ended');
  let root: string;
  let unpacked: string;
  let plan: CitiesPlan;
  const put = (keep: (next: CitiesPlan) => void = told, tell: (line: string) => void = told): Promise<void> =>
    placeCities(plan, unpacked, (next) => Promise.resolve(keep((plan = next))), tell);
  const make = async (folder: string, what: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'city.toml'), what);
  };
  const all = async (folder: string): Promise<string[]> => {
    const cities = (await readdir(folder)).filter((city) => !city.startsWith('.'));
    return (await Promise.all(cities.map(async (city) => `${city}: ${await readFile(join(folder, city, 'city.toml'), 'utf8')}`))).sort();
  };
  const aside = async (): Promise<string> => {
    const parent = plan.whole ? dirname(root) : root;
    return join(
      parent,
      (await readdir(parent)).find((one) => one.includes('.before-') || one.startsWith('.svc-before-'))!,
    );
  };
  beforeEach(async () => {
    [root, unpacked] = [join(there, name), join(there, 'unpacked')];
    for (const city of ['old', 'works']) await make(join(root, city), 'tuesday');
    for (const city of ['new', 'works']) await make(join(unpacked, city), 'monday');
    plan = await planCities(root, 'now');
  });
  afterEach(async () => {
    expect(await all(root)).toEqual(['new: monday', 'works: monday']);
    expect(await all(await aside())).toEqual(['old: tuesday', 'works: tuesday']);
  });

  it('are so again where it was ended before it had kept that what was there is aside', async () => {
    await expect(placeCities(plan, unpacked, ({ isAside }) => (isAside ? Promise.reject(ended) : kept()), told)).rejects.toThrow(ended);
    await put();
  });

  it('are so again where it was ended while it moved these', async () => {
    const end = (): void => {
      throw ended;
    };
    await expect(put(told, end)).rejects.toThrow(ended);
    await put();
  });

  it('are so again where it was ended before it put anything there, and in the middle of that', async () => {
    const end = ({ isAside }: CitiesPlan): void => {
      if (isAside) throw ended;
    };
    await expect(put(end)).rejects.toThrow(ended);
    if (!plan.whole) await rename(join(unpacked, 'works'), join(root, 'works'));
    await put();
  });

  it('stay as they are where all of it was done', async () => {
    await put();
    await put();
  });

  // Guard: it said that all was back, and its only copy was removed, where one city had been put there by hand.
  it('are not taken for those that somebody has put there meanwhile', async () => {
    const end = ({ isAside }: CitiesPlan): void => {
      if (isAside) throw ended;
    };
    await expect(put(end)).rejects.toThrow(ended);
    await make(join(root, 'works'), 'by hand');
    const what = plan.whole ? [root, unpacked] : ['works', root, unpacked].slice(1).map((one) => join(one, 'works'));
    await expect(put()).rejects.toThrow(`${what[0]!} is there, and so is what is to be put back there, ${what[1]!}`);
    expect(await readFile(join(root, 'works', 'city.toml'), 'utf8')).toBe('by hand');
    expect(await all(unpacked)).toContain('works: monday');
    await rm(join(root, 'works'), { recursive: true });
    await put();
  });

  // Guard: as another user it moved away what was there, and nobody could go on.
  it('stay where it may not be written down how they are', async () => {
    await expect(placeCities(plan, unpacked, () => Promise.reject(ended), told)).rejects.toThrow(ended);
    expect(await all(root)).toEqual(['old: tuesday', 'works: tuesday']);
    await put();
  });

  // Guard: what another restore had copied when it was killed, as big as all cities, stayed for ever.
  it('leave nothing of the copy of one that was killed', async () => {
    const part = plan.whole ? `${root}.part` : join(root, '.svc-before-part');
    for (const name of [`${part}-0123abcd`, `${part}-of-another`]) await mkdir(name, { recursive: true }).catch(() => undefined);
    await put();
    expect((await readdir(dirname(part))).filter((name) => name.includes('part'))).toEqual([`${basename(part)}-of-another`]);
  });
});
