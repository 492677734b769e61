import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { AppConfig } from '../../platform/config/config.js';
import { pack, unpack, type Manifest } from './archive.js';
import { backUp } from './backing-up.js';

let home: string;
const { PATH } = process.env;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-archive-')));
  mkdirSync(join(home, 'cities', 'alpha'), { recursive: true });
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(home, { recursive: true });
});

const manifest = (): Manifest => ({
  format: 1,
  database: 'dump',
  at: 'now',
  server: 18,
  citiesRoot: join(home, 'cities'),
  cities: 'cities',
});
const packed = (file: string) => pack(join(home, file), mkdtempSync(join(home, 'made-')), manifest());

/** A tar that does what it shall, and says and ends so. */
function tarThat(does: string): void {
  const real = execFileSync('sh', ['-c', 'command -v tar'], { encoding: 'utf8' }).trim();
  mkdirSync(join(home, 'bin'));
  writeFileSync(join(home, 'bin', 'tar'), `#!/bin/sh\n[ "$1" = -czf ] || exec ${real} "$@"\n${does.replaceAll('TAR', real)}\n`);
  chmodSync(join(home, 'bin', 'tar'), 0o755);
  process.env.PATH = `${join(home, 'bin')}:${PATH}`;
}

describe('an archive', () => {
  it('is nobody else’s, and whole however many are written at once under one name', async () => {
    // The first one is in the middle while the second begins and ends.
    tarThat(
      `if mkdir '${home}/first' 2>/dev/null; then head -c 4 /dev/urandom > "$2"; until [ -e '${home}/go' ]; do sleep 0.02; done; fi; exec TAR "$@"`,
    );
    const first = packed('monday.tgz');
    while (statSync(join(home, 'first'), { throwIfNoEntry: false }) === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    await packed('monday.tgz');
    expect(await unpack(join(home, 'monday.tgz'), join(home, 'one'))).toEqual(manifest());
    writeFileSync(join(home, 'go'), '');
    expect((await first).lacks).toEqual([]);
    expect(await unpack(join(home, 'monday.tgz'), join(home, 'two'))).toEqual(manifest());
    expect(statSync(join(home, 'monday.tgz')).mode & 0o777).toBe(0o600);
  });

  // Guard: a link in an archive is none of the cities.
  it('has the cities also where their folder is a link', async () => {
    renameSync(join(home, 'cities'), join(home, 'disk'));
    writeFileSync(join(home, 'disk', 'alpha', 'city.toml'), 'x');
    for (const name of ['.svc-before-1', 'lost+found', 'alpha/lost+found']) mkdirSync(join(home, 'disk', name));
    symlinkSync(join(home, 'disk'), join(home, 'cities'));
    await packed('monday.tgz');
    await unpack(join(home, 'monday.tgz'), join(home, 'one'));
    expect(readFileSync(join(home, 'one', 'cities', 'alpha', 'city.toml'), 'utf8')).toBe('x');
    expect(readdirSync(join(home, 'one', 'cities'), { recursive: true }).sort()).toEqual(['alpha', 'alpha/city.toml', 'alpha/lost+found']);
  });

  it('has the holes of a file as holes', async () => {
    const hole = join(home, 'cities', 'alpha', 'hole');
    writeFileSync(hole, 'x');
    truncateSync(hole, 100 * 2 ** 30);
    await packed('monday.tgz');
    await unpack(join(home, 'monday.tgz'), join(home, 'one'));
    const { size, blocks } = statSync(join(home, 'one', 'cities', 'alpha', 'hole'));
    expect(size).toBe(100 * 2 ** 30);
    expect(blocks).toBeLessThan(1_000);
  });

  it('is there with all that can be read, and says what cannot', async () => {
    tarThat('echo "tar: cities/./alpha/x: Cannot open: Permission denied" >&2; TAR "$@"; exit 2');
    expect((await packed('monday.tgz')).lacks).toEqual(['cities/alpha/x']);
    expect(await unpack(join(home, 'monday.tgz'), join(home, 'one'))).toEqual(manifest());
  });

  it('is not there when it could not be written', async () => {
    tarThat('echo "tar: x: Cannot write: No space left on device" >&2; exit 2');
    await expect(packed('monday.tgz')).rejects.toThrow('No space left on device');
    expect(statSync(join(home, 'monday.tgz'), { throwIfNoEntry: false })).toBeUndefined();
  });
});

describe('what is there already where a backup shall be', () => {
  const config = (): AppConfig => ({ dataDir: join(home, 'none'), citiesRoot: join(home, 'cities') }) as AppConfig;
  const tried = (file: string, replace = false): Promise<string> => backUp(config(), file, replace, () => undefined);
  /** What is said once the target is taken. */
  const goesOn = 'there is nothing to back up';

  it.each([
    ['a folder', (file: string) => mkdirSync(file)],
    ['a link', (file: string) => symlinkSync('/dev/null', file)],
  ])('is never replaced where it is %s', async (_what, make) => {
    const file = join(home, 'there');
    make(file);
    for (const replace of [false, true])
      await expect(tried(file, replace)).rejects.toThrow(`${file} is no file that a backup could take the place of`);
  });

  it('is never a device', async () =>
    expect(tried('/dev/null', true)).rejects.toThrow('/dev/null is no file that a backup could take the place of'));

  it.each([
    ['a text', () => 'a thesis'],
    ['an archive of something else', () => execFileSync('tar', ['-czf', '-', '-C', home, basename(join(home, 'cities'))])],
    ['an archive that is cut off', () => execFileSync('tar', ['-czf', '-', '-C', home, 'cities']).subarray(0, 12)],
  ])('stays where it is %s, unless it shall be replaced', async (_what, content) => {
    const file = join(home, 'monday.tgz');
    writeFileSync(file, content());
    const before = readFileSync(file);
    await expect(tried(file)).rejects.toThrow(`${file} is there, and no backup of svc: name another file, or say --replace`);
    expect(readFileSync(file)).toEqual(before);
    await expect(tried(file, true)).rejects.toThrow(goesOn);
  });

  it('is replaced where it is an older backup, or empty', async () => {
    await packed('monday.tgz');
    await expect(tried(join(home, 'monday.tgz'))).rejects.toThrow(goesOn);
    writeFileSync(join(home, 'empty'), '');
    await expect(tried(join(home, 'empty'))).rejects.toThrow(goesOn);
  });
});
