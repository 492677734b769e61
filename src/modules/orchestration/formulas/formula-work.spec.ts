import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { spinning } from '../../../platform/threads/testing/tasks.js';
import { ThreadOptions, Threads } from '../../../platform/threads/threads.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { FormulaConfig } from '../../files/composition/city-config.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { compiling, listing, validating } from './formula-tasks.js';
import { FormulaWork } from './formula-work.js';
import type { Shelf } from './stored-library.js';

const LOOP = (count: number): string =>
  `formula = "NAME"\n[[steps]]\nid = "a"\ntitle = "A"\nloop = { count = ${count}, body = [{ id = "b", title = "B" }, { id = "c", title = "C" }] }\n`;
const SMALL = LOOP(2);
/** 1,998 steps, of some hundred characters. */
const DEAR = LOOP(999);
const OPTIONS = { vars: {}, injected: {}, strict: false, compiler: '2.0.0' } as const;

let threads: Threads;
afterEach(() => threads.stop());

/** The formulas of a city, and what went to threads. */
function made(texts: Record<string, string>, options: Partial<ThreadOptions> = {}) {
  threads = new Threads(new ThreadOptions(options));
  const asked: string[] = [];
  const run = threads.run.bind(threads);
  threads.run = (request) => {
    asked.push(`${request.owner} ${request.task.name}`);
    return run(request);
  };
  const stored = new Map<string, string>();
  const formulas = Object.entries(texts).map(([name, template]): FormulaConfig => {
    const text = template.replace('NAME', name);
    const sha256 = createHash('sha256').update(text).digest('hex');
    stored.set(sha256, text);
    return { name, rig: '', file: `formulas/${name}.toml`, sha256, pack: '' };
  });
  const reads = {
    texts: (_city: unknown, digests: readonly string[]) => Promise.resolve(new Map(digests.map((digest) => [digest, stored.get(digest)!]))),
  };
  const shelf: Shelf = { formulas, contents: {} };
  const work = new FormulaWork(reads as unknown as ConfigReadsService, threads);
  const of = (name: string): CityScope => ({ name }) as CityScope;
  const compiled = (name: string, city = 'alpha') => work.run(of(city), compiling, { shelf, rig: '', name, options: OPTIONS });
  return { asked, work, shelf, of, compiled };
}

describe('work on formulas', () => {
  it('is done at once when it is little', async () => {
    const { asked, compiled, work, shelf, of } = made({ small: SMALL });
    expect((await compiled('small'))!.recipe!.steps).toHaveLength(5);
    expect(await work.run(of('alpha'), listing, { shelf, rig: '', entries: shelf.formulas, runs: [7] })).toMatchObject([
      { name: 'small', run_count: 7 },
    ]);
    const asIt = { shelf, rig: '', name: 'small', compiler: '2.0.0' } as const;
    expect((await work.run(of('alpha'), validating, asIt)).issues).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('lets the loop go on when it is much, and says the same', async () => {
    const { asked, compiled } = made({ small: SMALL, dear: DEAR });
    let others = 0;
    let isDone = false;
    const dear = compiled('dear').finally(() => (isDone = true));
    while (!isDone) {
      expect((await compiled('small', 'beta'))!.issues).toEqual([]);
      others++;
      // Answers of threads come in turns of the loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(asked).toEqual(['alpha compiling']);
    expect(others).toBeGreaterThan(10);
    expect((await dear)!.recipe!.steps).toHaveLength(1_999);
  });

  it('is much when a page of little ones is', async () => {
    const long = `description = "${'x'.repeat(1_000)}"\n${SMALL}`;
    const { asked, work, shelf, of } = made(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}`, long])));
    const entries = shelf.formulas;
    const page = await work.run(of('alpha'), listing, { shelf, rig: '', entries, runs: entries.map(() => 1) });
    expect(asked).toEqual(['alpha listing']);
    expect(page.map(({ name }) => name)).toEqual(entries.map(({ name }) => name));
    expect(page.filter(({ errors }) => errors !== undefined)).toEqual([]);
  });

  it('is looked at as it might be in a thread as well', async () => {
    const { asked, work, shelf, of } = made({});
    const text = `${DEAR.replace('NAME', 'new')}[[steps]]\nid = "d"\ntitle = "D"\nneeds = ["nobody"]\n`;
    const candidate = { name: 'new', file: 'formulas/new.toml', sha256: '0'.repeat(64), text };
    const { issues } = await work.run(of('alpha'), validating, { shelf, rig: '', candidate, name: 'new', compiler: '2.0.0' });
    expect(asked).toEqual(['alpha validating']);
    expect(issues).not.toEqual([]);
  });

  it('is refused when it takes more than a thread may', async () => {
    const { compiled } = made({ dear: DEAR }, { busyMs: 1 });
    // What ends at some time may have ended before anybody looks at the thread.
    const run = threads.run.bind(threads);
    threads.run = (request) => run({ ...request, task: spinning as never });
    await expect(compiled('dear')).rejects.toMatchObject({ problem: 'validation_failed' });
  });
});
