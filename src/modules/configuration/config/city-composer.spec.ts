import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import { Answering } from '../../../platform/disk/answering.js';
import { ThreadOptions, Threads } from '../../../platform/threads/threads.js';
import { compose } from '../../files/composition/compose/compose.js';
import { DiskPackStore } from '../../files/composition/packs/disk-pack-store.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { Ledger } from '../../files/composition/trees/ledger.js';
import { DirectoriesRepository } from '../../files/directories/directories.repository.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { CityComposer, type Composing } from './city-composer.js';
import { filesOf } from './composed.js';

let root: string;
let threads: Threads;
let composer: CityComposer;
/** Tasks that went to threads. */
let asked: string[];
/** Who asked for a share of what large results may take. */
let held: string[];

beforeEach(async () => {
  root = await folder('svc-composer-');
  use();
});
afterEach(() => threads.stop());
afterAll(removeFolders);

function use(options: Partial<ThreadOptions> = {}): void {
  threads = new Threads(new ThreadOptions(options));
  asked = [];
  held = [];
  const hold = threads.hold.bind(threads);
  threads.hold = (owner, characters) => {
    held.push(owner);
    return hold(owner, characters);
  };
  const run = threads.run.bind(threads);
  threads.run = (request) => {
    asked.push(request.owner);
    return run(request);
  };
  const config = new AppConfig(loadConfig({ SVC_CITIES_ROOT: root }, root) as Config);
  // Nothing here lies outside of the city: no database is asked.
  composer = new CityComposer(config, new DirectoriesService(config, new DirectoriesRepository(), undefined as never), threads);
}

const START = '[workspace]\nstart_command = "bin/agent"\n';

async function city(name: string, files: Record<string, string>): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    const at = path.join(root, name, file);
    await mkdir(path.dirname(at), { recursive: true });
    await writeFile(at, text);
  }
  return path.join(root, name);
}

/** An agent of a pack in every rig, with many variables: a few short files that stand for very much. */
function wide(rigs: number, variables: number): Record<string, string> {
  const env = Array.from({ length: variables }, (_, n) => `V${n} = "1"`).join();
  return {
    'city.toml': `${START}[imports.desk]\nsource = "desk"\n${Array.from({ length: rigs }, (_, n) => `[[rigs]]\nname = "r${n}"\n`).join('')}`,
    'desk/pack.toml': '[pack]\nname = "desk"\nschema = 2\n',
    'desk/agents/a/agent.toml': `scope = "rig"\nenv = { ${env} }\n`,
    'desk/agents/a/prompt.md': 'Do it.',
  };
}

const SMALL = { 'city.toml': START, 'agents/a/prompt.md': 'Do it.' };

async function composeCity(name: string): Promise<Composing> {
  return composer.compose({ name, path: path.join(root, name) }, {}, (result) => result);
}

function hashOf(result: Composing): string {
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return result.composed.hash;
}

/** What composing without threads gives. */
async function plainly(name: string): Promise<{ hash: string | undefined; ledger: Ledger }> {
  const dir = path.join(root, name);
  const ledger = new Ledger();
  const tree = new DiskTree(dir, '', ledger);
  const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot: root, ledger });
  return { hash: filesOf(await compose({ tree, packs, cityName: name })).stored?.hash, ledger };
}

describe('composing', () => {
  it('a small city needs no thread', async () => {
    await city('alpha', SMALL);
    expect(hashOf(await composeCity('alpha'))).toBe((await plainly('alpha')).hash);
    expect(asked).toEqual([]);
  });

  // Guard: who asks for files on a disk that does not answer hears so, and keeps no thread.
  it('a city whose disk does not answer is not begun', async () => {
    await city('alpha', SMALL);
    const waited: [string, number][] = [];
    const answering = new Answering();
    answering.answers = (folder, ms) => {
      waited.push([folder, ms]);
      return Promise.resolve(false);
    };
    composer.answering = answering;
    await expect(composeCity('alpha')).rejects.toMatchObject({
      problem: 'unavailable',
      detail: 'unavailable: the disk with the files of alpha does not answer',
    });
    expect(waited).toEqual([[path.join(root, 'alpha'), 10_000]]);
  });

  it('any other city lets the loop go on', async () => {
    await city('alpha', wide(120, 500));
    await city('beta', SMALL);
    // Nothing but what the other city needs happens on this loop, so that it is composed again and again meanwhile.
    let others = 0;
    let fired = 0;
    let done = false;
    const timer = setInterval(() => fired++, 10);
    const large = composeCity('alpha').finally(() => (done = true));
    while (!done) {
      hashOf(await composeCity('beta'));
      others++;
    }
    clearInterval(timer);
    expect(asked).toEqual(['alpha']);
    expect(others).toBeGreaterThan(10);
    expect(fired).toBeGreaterThan(10);
    const result = await large;
    const expected = await plainly('alpha');
    expect(hashOf(result)).toBe(expected.hash);
    expect(result.ledger.signature()).toBe(expected.ledger.signature());
  });

  it('goes straight to a thread the next time, and comes back when the city is small again', async () => {
    const dir = await city('alpha', wide(100, 300));
    for (let n = 0; n < 2; n++) await composeCity('alpha');
    await writeFile(path.join(dir, 'city.toml'), START);
    await composeCity('alpha');
    expect(asked).toHaveLength(3);
    await composeCity('alpha');
    expect(asked).toHaveLength(3);
  });

  it('tells of files in a thread what it tells of them elsewhere', async () => {
    const files = wide(100, 300);
    const dir = await city('alpha', { ...files, 'desk/agents/b/agent.toml': 'scope = "nowhere"\n', 'agents/c/agent.toml': 'x = 1\n' });
    const { errors } = (await composeCity('alpha')) as Extract<Composing, { errors: unknown }>;
    expect(asked).toEqual(['alpha']);
    const tree = new DiskTree(dir);
    const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot: root, ledger: new Ledger() });
    const { issues } = await compose({ tree, packs, cityName: 'alpha' });
    expect(errors).toEqual(issues.filter(({ severity }) => severity === 'error'));
    expect(errors.length).toBeGreaterThan(1);
  });

  it.each<[string, Partial<ThreadOptions>, string]>([
    ['time', { busyMs: 20 }, 'composing the city takes more than 0.02 s of work'],
    ['memory', { heapMiB: 16 }, 'composing the city takes more than 16 MiB of memory'],
  ])('that takes too much %s is an error of the files, and the next one works', async (_, options, message) => {
    use(options);
    // So much that the thread cannot have ended before anybody looks at it.
    await city('alpha', wide(400, 1_000));
    await city('beta', SMALL);
    const result = await composeCity('alpha');
    expect('errors' in result && result.errors).toEqual([{ severity: 'error', file: 'city.toml', key: '', message }]);
    expect(hashOf(await composeCity('beta'))).toMatch(/^[0-9a-f]{64}$/);
    await threads.stop();
    use();
    await city('alpha', wide(120, 500));
    expect(hashOf(await composeCity('alpha'))).toMatch(/^[0-9a-f]{64}$/);
  });

  it('takes turns: who asks for much waits for itself', async () => {
    use({ count: 1 });
    for (const name of ['alpha', 'beta']) await city(name, wide(100, 300));
    const order: string[] = [];
    const one = async (name: string): Promise<void> => {
      await composeCity(name);
      order.push(name);
    };
    const first = one('alpha');
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const many = [one('alpha'), one('alpha'), one('alpha')];
    while (held.length < 4) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, ...many, one('beta')]);
    expect(order.indexOf('beta')).toBeLessThan(3);
  });

  it('holds one large result at a time, and shares with those that are known to be less', async () => {
    use({ held: 3 * 1024 * 1024 });
    for (const name of ['alpha', 'beta']) await city(name, wide(100, 300));
    let inside = 0;
    let most = 0;
    let begun = 0;
    const one = (name: string): Promise<void> =>
      composer.compose({ name, path: path.join(root, name) }, {}, async (result) => {
        hashOf(result);
        most = Math.max(most, ++inside);
        while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));
        // Whoever has a share goes to a thread at once, also when that ends too late to be in here with another.
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        begun ||= asked.length;
        inside--;
      });
    // Nothing is known of them yet: each may be the largest.
    const unknown = [one('alpha'), one('beta')];
    await Promise.all(unknown);
    expect([most, begun]).toEqual([1, 1]);
    // What nobody uses any more is given back.
    await Promise.all([composeCity('alpha'), composeCity('beta'), one('alpha').catch(() => undefined)]);
    expect((await threads.hold('gamma', Infinity)).giveBack).toBeDefined();
  });

  it('gives back what a failed use has held', async () => {
    use({ held: 1 });
    await city('alpha', wide(100, 300));
    const failing = composer.compose({ name: 'alpha', path: path.join(root, 'alpha') }, {}, () => Promise.reject(new Error('of its user')));
    await expect(failing).rejects.toThrow('of its user');
    hashOf(await composeCity('alpha'));
    expect(held).toEqual(['alpha', 'alpha']);
  });
});
