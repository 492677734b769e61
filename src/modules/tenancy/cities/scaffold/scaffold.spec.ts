import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'smol-toml';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { prefixOf } from '../../../files/composition/prefix.js';
import { cityToml, extendIgnore, type CityFacts } from './files.js';
import { isScaffolded, planScaffold, ScaffoldPlan } from './plan.js';
import { applyScaffold, nothingWritten, ScaffoldConflict, undoScaffold } from './scaffold.js';

const facts: CityFacts = { name: 'alpha', provider: 'loopback', startCommand: undefined, profile: undefined };
let base: string;
let dir: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-scaffold-')));
  dir = path.join(base, 'deep/alpha');
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** Every path below `base` with its content. */
async function snapshot(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(base, { recursive: true, withFileTypes: true })) {
    const at = path.join(entry.parentPath, entry.name);
    found[path.relative(base, at)] = entry.isDirectory() ? 'directory' : await readFile(at, 'utf8');
  }
  return found;
}

async function existingDirectory(): Promise<void> {
  await mkdir(path.join(dir, 'agents/mayor'), { recursive: true });
  await writeFile(path.join(dir, 'agents/mayor/prompt.template.md'), 'mine');
  await writeFile(path.join(dir, '.gitignore'), 'dist\r\nhooks/');
  await writeFile(path.join(dir, 'README.md'), 'mine');
}

describe.each([
  ['a new directory', () => Promise.resolve()],
  ["a directory with the user's files", existingDirectory],
])('a scaffold in %s', (_title, prepare) => {
  it('is undone completely, by its writer as from the plan alone, wherever it stopped', async () => {
    await prepare();
    const before = await snapshot();
    for (const stop of ['scaffold.before_write', 'scaffold.after_first_file', 'scaffold.after_write'] as const) {
      for (const alone of [false, true]) {
        const scaffold = await planScaffold(dir, facts, 'req-1');
        const written = nothingWritten();
        const failpoints = new Failpoints();
        failpoints.arm(stop, () => {
          throw new Error('stop');
        });
        await expect(applyScaffold(scaffold, written, failpoints)).rejects.toThrow('stop');
        const stored = ScaffoldPlan.parse(JSON.parse(JSON.stringify(scaffold.plan)));
        await undoScaffold(stored, alone ? undefined : written);
        await undoScaffold(stored, alone ? undefined : written);
        expect(await snapshot()).toEqual(before);
      }
    }
  });

  it('leaves a city', async () => {
    await prepare();
    expect(await isScaffolded(dir)).toBe(false);
    await applyScaffold(await planScaffold(dir, facts, 'req-1'), nothingWritten(), new Failpoints());
    expect(await isScaffolded(dir)).toBe(true);
    expect((await readdir(dir, { recursive: true })).filter((name) => name.includes('.svc-'))).toEqual([]);
  });
});

describe('a scaffold', () => {
  it('keeps what the user has and extends the ignore file in its own style', async () => {
    await existingDirectory();
    await applyScaffold(await planScaffold(dir, facts, 'req-1'), nothingWritten(), new Failpoints());
    expect(await readFile(path.join(dir, 'agents/mayor/prompt.template.md'), 'utf8')).toBe('mine');
    expect(await readFile(path.join(dir, '.gitignore'), 'utf8')).toBe('dist\r\nhooks/\r\n.gc/\r\n.beads/*\r\n!.beads/identity.toml\r\n');
  });

  it('waits for nobody where a pipe has the name of a file', async () => {
    await mkdir(dir, { recursive: true });
    execFileSync('mkfifo', [path.join(dir, '.gitignore')]);
    await expect(planScaffold(dir, facts, 'req-1')).rejects.toThrow('.gitignore is a device, pipe or socket');
  });

  it('never replaces a file that appears meanwhile, and takes only its own files back', async () => {
    const scaffold = await planScaffold(dir, facts, 'req-1');
    await mkdir(dir, { recursive: true });
    await writeFile(path.join(dir, 'pack.toml'), 'theirs');
    const written = nothingWritten();
    await expect(applyScaffold(scaffold, written, new Failpoints())).rejects.toThrow(ScaffoldConflict);
    await undoScaffold(scaffold.plan, written);
    expect(await readdir(dir)).toEqual(['pack.toml']);
    expect(await readFile(path.join(dir, 'pack.toml'), 'utf8')).toBe('theirs');
  });

  it('keeps what was changed after it when it is undone', async () => {
    const scaffold = await planScaffold(dir, facts, 'req-1');
    const written = nothingWritten();
    await applyScaffold(scaffold, written, new Failpoints());
    await writeFile(path.join(dir, 'city.toml'), 'edited');
    await writeFile(path.join(dir, 'formulas/own.toml'), 'own');
    await undoScaffold(scaffold.plan, written);
    expect((await readdir(dir, { recursive: true })).sort()).toEqual(['city.toml', 'formulas', 'formulas/own.toml']);
  });
});

describe('the texts', () => {
  it('write valid TOML whatever the command holds', () => {
    const startCommand = 'run "x" \\ \'y\' \n\u0007 é';
    expect(parse(cityToml({ ...facts, provider: undefined, startCommand }))).toEqual({ workspace: { start_command: startCommand } });
  });
  it('leave a complete ignore file alone', () => {
    expect(extendIgnore(extendIgnore('')!)).toBeUndefined();
  });
  it.each([
    ['north-desk', 'nd'],
    ['abc', 'abc'],
    ['storefront', 'st'],
    ['myCity', 'mc'],
    ['api-go', 'api'],
  ])('derive the prefix of %s', (name, prefix) => expect(prefixOf(name)).toBe(prefix));
});
