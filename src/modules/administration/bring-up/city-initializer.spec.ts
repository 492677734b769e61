import { lstat, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Answering } from '../../../platform/disk/answering.js';
import { processPlaces } from '../../../platform/disk/disk-places.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import { gitRunner, noCredentials } from '../../../platform/git/testing/runner.js';
import { Git } from '../../../platform/git/git.js';
import { GitFailure } from '../../../platform/git/git-failure.js';
import { OutgoingGuard } from '../../../platform/outgoing/outgoing-guard.js';
import { ThreadOptions, Threads } from '../../../platform/threads/threads.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { DirectoriesRepository } from '../../files/directories/directories.repository.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { CityComposer } from '../../configuration/config/city-composer.js';
import { PackInstallerService } from '../../configuration/packs/pack-installer.service.js';
import { CityInitializer, type Initialized } from './city-initializer.js';
import { phasesCompleted, retryDelayMs } from '../../tenancy/cities/city-phases.js';
import { configHash } from './city-files.js';
import { materialize } from './materialize.js';
import { planScaffold } from '../../tenancy/cities/scaffold/plan.js';
import { applyScaffold, nothingWritten } from '../../tenancy/cities/scaffold/scaffold.js';

let dir: string;
const configOf = ({ composed }: Initialized): CityConfig => JSON.parse(composed.configText) as CityConfig;
let config: AppConfig;
let directories: DirectoriesService;
let composer: CityComposer;
let initializer: CityInitializer;
const write = async (file: string, content: string): Promise<void> => {
  await mkdir(path.dirname(path.join(dir, file)), { recursive: true });
  await writeFile(path.join(dir, file), content);
};
const initialize = (): ReturnType<CityInitializer['initialize']> => initializer.initialize({ name: 'alpha', dir }, () => Promise.resolve());

beforeEach(async () => {
  dir = path.join(await realpath(await mkdtemp(path.join(tmpdir(), 'svc-init-'))), 'alpha');
  config = new AppConfig(loadConfig({ SVC_CITIES_ROOT: path.dirname(dir) }, dir) as Config);
  // Nothing here lies outside of the city: no database is asked.
  directories = new DirectoriesService(config, new DirectoriesRepository(), undefined as never);
  const packs = new PackInstallerService(config, new Git(new OutgoingGuard(config), noCredentials, gitRunner(dir)), directories);
  composer = new CityComposer(config, directories, new Threads(new ThreadOptions()));
  initializer = new CityInitializer(composer, packs);
  const facts = { name: 'alpha', provider: 'loopback', startCommand: undefined, profile: undefined };
  await applyScaffold(await planScaffold(dir, facts, 'req-1'), nothingWritten(), new Failpoints());
});
afterEach(() => rm(path.dirname(dir), { recursive: true, force: true }));

describe('CityInitializer', () => {
  it('passes the phases in order and reports what the files say', async () => {
    const phases: string[] = [];
    await write('agents/builder/prompt.md', 'Build.');
    await write('formulas/ship.toml', 'formula = "ship"');
    await write(
      'city.toml',
      '[workspace]\nprovider = "loopback"\nsuspended_on_start = true\nsession_template = "{{.Agent}}"\n[providers.loopback]\n[[rigs]]\nname = "web"',
    );
    const found = await initializer.initialize({ name: 'alpha', dir }, (phase) => Promise.resolve(void phases.push(phase)));
    expect(phases).toEqual(['starting_bead_store', 'starting_agents']);
    expect(configOf(found).workspace).toMatchObject({
      provider: 'loopback',
      suspended_on_start: true,
      session_template: '{{.Agent}}',
    });
    expect(configOf(found).agents.map((agent) => agent.qualified_name)).toEqual(expect.arrayContaining(['mayor', 'builder']));
    expect((await initialize()).composed.hash).toBe(found.composed.hash);
  });

  it.each([
    ['city_config_failed', 'city.toml', 'a = = 1', /^city\.toml:1/],
    ['city_config_failed', 'city.toml', '[workspace]\nprovider = "nobody"', /workspace\.provider/],
    ['city_config_failed', 'city.toml', 'x'.repeat(1024 * 1024 + 1), /larger than 1 MiB/],
    ['pack_cache_failed', 'pack.toml', '[pack]\nname = "x"\nschema = 9', /^pack\.toml:3: pack\.schema: /],
    ['pack_cache_failed', 'pack.toml', '[pack]\nname = "x"\nschema = 2\n[imports.y]\nsource = "packs/y"', /imports\.y/],
    ['city_init_failed', 'agents/quiet/agent.toml', 'scope = "city"', /^agents\/quiet/],
    ['city_init_failed', 'agents/mayor/prompt.template.md', '\n', /^agents\/mayor/],
  ])('fails with %s: %s', async (code, file, content, message) => {
    await write(file, content);
    await expect(initialize()).rejects.toMatchObject({ code, message: expect.stringMatching(message), failureClass: 'structural' });
  });

  it('makes the folders that are missing, and takes none that a link leads out to', async () => {
    const outside = path.join(path.dirname(dir), 'outside');
    await mkdir(path.join(outside, 'cache'), { recursive: true });
    await rm(path.join(dir, '.gc'), { recursive: true });
    await materialize(dir);
    for (const [relative, target] of [['.gc/cache', path.join(outside, 'cache')] as const, ['.gc', outside] as const]) {
      const at = path.join(dir, relative);
      expect((await lstat(at)).isDirectory()).toBe(true);
      await rm(at, { recursive: true });
      await symlink(target, at);
      await expect(materialize(dir)).rejects.toThrow(`${relative} leads out of the city`);
      await rm(at);
      await materialize(dir);
    }
  });

  it('never reads or quotes what lies outside the city', async () => {
    await writeFile(path.join(dir, '../secret'), 'TOP = SECRET');
    await rm(path.join(dir, 'city.toml'));
    await symlink('../secret', path.join(dir, 'city.toml'));
    await expect(initialize()).rejects.toMatchObject({ message: expect.stringMatching(/^city\.toml: .*outside/) });
    await rm(path.join(dir, 'city.toml'));
    await write('city.toml', 'TOP = SECRET');
    await expect(initialize()).rejects.toMatchObject({ message: expect.not.stringContaining('SECRET') });
  });

  // Guard: a worker that has lost the city would go on fetching for it, beside the one that has it.
  it('ends a fetch of packs when it is told to, and does not blame the pack', async () => {
    await write('packs.lock', `schema = 1\n[packs."https://silent.example/x"]\ncommit = "${'a'.repeat(40)}"\n`);
    const asked = Promise.withResolvers<void>();
    const checkout = (...given: Parameters<Git['checkout']>): Promise<never> =>
      new Promise((_, reject) => {
        given[5].addEventListener('abort', () => reject(new GitFailure('aborted', 'the caller gave up')));
        asked.resolve();
      });
    const packs = new PackInstallerService(config, { forCity: () => ({ checkout }) } as unknown as Git, directories);
    const stop = new AbortController();
    const ended = new CityInitializer(composer, packs).initialize({ name: 'alpha', dir }, () => Promise.resolve(), stop.signal);
    await asked.promise;
    stop.abort(new Error('lost'));
    await expect(ended).rejects.toThrow('lost');
  });

  it('treats a missing directory as something that may come back', async () => {
    await rm(dir, { recursive: true });
    await expect(initialize()).rejects.toMatchObject({ code: 'city_config_failed', failureClass: 'transient' });
    expect(await configHash(dir)).toMatch(/^[0-9a-f]{64}$/);
  });

  // Guard: no city is brought up on a disk that does not answer.
  it('looks at nothing on a disk that does not answer, which may answer later', async () => {
    composer.answering = new Answering();
    composer.answering.answers = () => Promise.resolve(false);
    const looks = jest.spyOn(processPlaces, 'run');
    await expect(initialize()).rejects.toMatchObject({
      code: 'city_config_failed',
      message: 'the disk with the files of the city does not answer',
      failureClass: 'transient',
    });
    expect(looks.mock.calls).toEqual([]);
    looks.mockRestore();
  });

  it('hashes whatever a retry would read', async () => {
    const seen = new Set([await configHash(dir)]);
    for (const file of ['city.toml', 'pack.toml', 'formulas/x.toml', 'agents/mayor/prompt.template.md', 'agents/new/agent.toml']) {
      await write(file, `# ${file}`);
      seen.add(await configHash(dir));
    }
    expect(seen.size).toBe(6);
  });

  it('hashes the same files as the release before, beside which it runs', async () => {
    await rm(dir, { recursive: true });
    await write('city.toml', '[workspace]\n');
    await write('packs/p/pack.toml', 'p');
    await write('prompts/x.md', 'x');
    expect(await configHash(dir)).toBe('e149241474bea6a8fde436b0600650c849f948dd3cddd1329a379465a1a19968');
  });

  it('hashes no more than composing reads, of all folders together, and not longer than anybody wants it', async () => {
    await write('agents/a/prompt.md', 'a');
    await write('prompts/p.md', 'p');
    const before = [await configHash(dir), await configHash(dir, undefined, { files: 3, bytes: 1_000_000 })];
    await write('prompts/p.md', 'another');
    expect(await configHash(dir)).not.toBe(before[0]);
    expect(await configHash(dir, undefined, { files: 3, bytes: 1_000_000 })).toBe(before[1]);
    await expect(configHash(dir, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
    // Where there is too much of packs, everything else counts nevertheless.
    for (let n = 0; n < 100; n++) await write(`packs/many/${n}`, '');
    const large = await configHash(dir, undefined, { files: 100, bytes: 1_000_000 });
    await write('prompts/p.md', 'one more');
    expect(await configHash(dir, undefined, { files: 100, bytes: 1_000_000 })).not.toBe(large);
  });
});

describe('phases', () => {
  it('count only the canonical ones', () => {
    expect(phasesCompleted('loading_config')).toBeUndefined();
    expect(phasesCompleted('validating_agents')).toBeUndefined();
    expect(phasesCompleted('starting_agents')).toEqual([
      'loading_config',
      'starting_bead_store',
      'resolving_formulas',
      'adopting_sessions',
    ]);
  });
  it('double the pause from 10 s up to 5 min', () => {
    expect([1, 2, 3, 5, 6, 1000].map(retryDelayMs)).toEqual([10_000, 20_000, 40_000, 160_000, 300_000, 300_000]);
  });
});
