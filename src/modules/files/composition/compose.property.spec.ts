import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { DEEP } from '../../../../test/support/depth.js';
import { anyText } from '../../../../test/support/any-text.js';
import { compose } from './compose/compose.js';
import type { Composition } from './composition.js';
import { describeIssue } from './issue.js';
import { Sources, leavesOf } from './testing/leaves.js';
import { MemoryPacks } from './testing/memory-packs.js';
import { change, randomCity, render, type Documents } from './testing/random-city.js';
import { randomDocuments, SECRET } from './testing/random-documents.js';
import { placesOf, plain } from './tree.js';
import type { FileTree, TreeEntry } from './trees/file-tree.js';
import { MemoryTree } from './trees/testing/memory-tree.js';

type Files = Readonly<Record<string, string>>;

const DOSE = DEEP ? 1 : 0.2;
/** The text of a file by the name that issues have for it. */
function textOf(files: Files, file: string): string | undefined {
  return files[file.replace(/^(packs\/[^:]+):/, '$1/')];
}

function composeFiles(files: Files, tree: FileTree = new MemoryTree(files)): Promise<Composition> {
  return compose({ tree, packs: new MemoryPacks(files), cityName: 'harbor' });
}

/** Everything of a composition as one text; `without` are keys of the result that do not count. */
function bytes({ config, issues }: Composition, ...without: string[]): string {
  const result = config?.without(...without);
  return JSON.stringify([result === undefined ? null : [plain(result), placesOf(result)], issues], undefined, 1);
}

/** Files in an order that a number decides. */
function shuffled(files: Files, order: number): Files {
  const weight = (path: string): number => [...path].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0) + order) % 65_521, order);
  return Object.fromEntries(Object.entries(files).sort(([a], [b]) => weight(a) - weight(b)));
}

/** A tree that answers after a while, not in the order in which it was asked. */
class SlowTree implements FileTree {
  readonly label = '';
  #turn: number;

  constructor(
    private readonly tree: MemoryTree,
    order: number,
  ) {
    this.#turn = order;
  }

  async read(path: string): Promise<string | undefined> {
    await this.#wait();
    return this.tree.read(path);
  }

  async list(path: string): Promise<readonly TreeEntry[]> {
    await this.#wait();
    return this.tree.list(path);
  }

  async digests(path: string): Promise<readonly (readonly [string, string])[]> {
    await this.#wait();
    return this.tree.digests(path);
  }

  async #wait(): Promise<void> {
    this.#turn = (this.#turn * 7 + 3) % 11;
    for (let n = this.#turn; n > 0; n--) await setImmediate();
  }
}

/** The city with patches, overrides and sessions for agents that it really has. */
async function changed(documents: Documents, changes: readonly (readonly [number, object])[]): Promise<Documents> {
  const { config } = await composeFiles(render(documents));
  const agents = config?.tables('agents') ?? [];
  const patches = changes.flatMap(([n, keys]) => {
    const target = agents[n % Math.max(1, agents.length)]?.text('qualified_name');
    return target === undefined ? [] : [{ name: target, ...keys }];
  });
  const template = agents.find((agent) => agent.text('dir') === '')?.text('qualified_name');
  const sessions = template === undefined ? [] : [{ name: 'front', template }];
  return { ...documents, 'city.toml': { ...(documents['city.toml'] as object), patches: { agent: patches }, named_session: sessions } };
}

const changes = fc.array(fc.tuple(fc.nat(20), change), { maxLength: 3 });
const cities = fc.tuple(randomCity, changes);

describe('composing', () => {
  it('gives the same bytes whatever the order of files, of answers and of imports', async () => {
    await fc.assert(
      fc.asyncProperty(cities, fc.nat(10_000), async ([documents, wanted], order) => {
        const city = await changed(documents, wanted);
        const files = render(city);
        const expected = bytes(await composeFiles(files));
        const other = shuffled(files, order);
        expect(bytes(await composeFiles(other, new SlowTree(new MemoryTree(other), order)))).toBe(expected);
        const turned = render(withImportsTurned(city));
        const places = /"(line|contents|at)":/;
        expect(plainOf(await composeFiles(turned), places)).toBe(plainOf(await composeFiles(files), places));
      }),
      { numRuns: 60 * DOSE },
    );
  });

  it('looks at nothing but the files that belong to a city', async () => {
    const names = fc.constantFrom(
      'README.md',
      'src/city.toml',
      'city.toml.bak',
      'packs/other/pack.toml',
      'agents.toml',
      'site.toml',
      'x/agents/a/agent.toml',
    );
    await fc.assert(
      fc.asyncProperty(cities, fc.dictionary(names, fc.string()), async ([documents, wanted], others) => {
        const files = render(await changed(documents, wanted));
        expect(bytes(await composeFiles({ ...others, ...files }))).toBe(bytes(await composeFiles(files)));
      }),
      { numRuns: 50 * DOSE },
    );
  });

  it('does not mind comments', async () => {
    await fc.assert(
      fc.asyncProperty(cities, async ([documents, wanted]) => {
        const files = render(await changed(documents, wanted));
        const commented = Object.entries(files).map(([path, text]) => [
          path,
          path.endsWith('.toml') ? `${text}\n# agent = "x" [[agent]]\n` : text,
        ]);
        const hashes = /"(contents|sha256)":/;
        expect(plainOf(await composeFiles(Object.fromEntries(commented) as Files), hashes)).toBe(
          plainOf(await composeFiles(files), hashes),
        );
      }),
      { numRuns: 50 * DOSE },
    );
  });

  it('names for every leaf a source that holds its value', async () => {
    let leaves = 0;
    let composed = 0;
    await fc.assert(
      fc.asyncProperty(cities, async ([documents, wanted]) => {
        const files = render(await changed(documents, wanted));
        const { config, issues } = await composeFiles(files);
        expect(issues.filter(({ severity }) => severity === 'error' && config !== undefined)).toEqual([]);
        if (config === undefined) return;
        composed++;
        const sources = new Sources((file) => textOf(files, file));
        const found = leavesOf(config);
        leaves += found.length;
        expect(found.map(({ path }) => path)).toEqual(placesOf(config).map(({ path }) => path));
        expect(found.flatMap((leaf) => sources.doubt(leaf) ?? [])).toEqual([]);
      }),
      { numRuns: 120 * DOSE },
    );
    // Cities that do not compose would prove nothing.
    expect(composed).toBeGreaterThan(40 * DOSE);
    expect(leaves).toBeGreaterThan(2_000 * DOSE);
  });

  it('never throws, and tells everything at a place that exists and without the values', async () => {
    let composed = 0;
    await fc.assert(
      fc.asyncProperty(randomDocuments, async (documents) => {
        const files = render(documents);
        const { config, issues } = await composeFiles(files);
        expect(config === undefined).toBe(issues.some(({ severity }) => severity === 'error'));
        for (const { file, line, key, message, accepted } of issues) {
          const text = textOf(files, file);
          if (line !== undefined) expect(text?.split('\n').length).toBeGreaterThanOrEqual(line);
          expect([file, key, message].join('')).not.toMatch(/\n|\0/);
          expect(message).not.toBe('');
          expect(describeIssue({ file, key, message, severity: 'error', ...(accepted === undefined ? {} : { accepted }) })).not.toContain(
            SECRET,
          );
        }
        if (config === undefined) return;
        composed++;
        const sources = new Sources((file) => textOf(files, file));
        expect(leavesOf(config).flatMap((leaf) => sources.doubt(leaf) ?? [])).toEqual([]);
      }),
      { numRuns: 250 * DOSE },
    );
    expect(composed).toBeGreaterThan(20 * DOSE);
  });

  it('never throws for files that are any text at all', async () => {
    const paths = fc.constantFrom(
      'city.toml',
      'pack.toml',
      '.gc/site.toml',
      'agents/a/agent.toml',
      'agents/a/prompt.md',
      'orders/o.toml',
      'formulas/f.toml',
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(paths, anyText(60)), async (files) => {
        const { config, issues } = await composeFiles(files);
        expect(config === undefined).toBe(issues.some(({ severity }) => severity === 'error'));
      }),
      { numRuns: 100 * DOSE },
    );
  });

  it('does not follow every way through packs that import each other many times', async () => {
    const documents: Record<string, object> = {
      'city.toml': { workspace: { start_command: 'bin/agent' }, imports: { x: { source: 'packs/p1' } } },
    };
    const levels = 15;
    for (let n = 1; n <= levels; n++) {
      const bindings = n === levels ? [] : ['a', 'b', 'c', 'd'];
      documents[`packs/p${n}/pack.toml`] = {
        pack: { name: `p${n}`, schema: 2 },
        imports: Object.fromEntries(bindings.map((binding) => [binding, { source: `../p${n + 1}` }])),
      };
    }
    const files = render({ ...documents, [`packs/p${levels}/agents/ann/prompt.md`]: 'Work.\n' });
    const packs = new MemoryPacks(files);
    const { config, issues } = await compose({ tree: new MemoryTree(files), packs, cityName: 'harbor' });
    expect(issues).toEqual([]);
    expect(config?.tables('agents').map((agent) => agent.text('qualified_name'))).toEqual(['x.ann']);
    expect(packs.asked).toBeLessThan(100);
  });
});

function withImportsTurned(documents: Documents): Documents {
  const turned = Object.entries(documents).map(([path, document]) => {
    const { imports } = document as { imports?: object };
    return [
      path,
      imports === undefined ? document : { ...(document as object), imports: Object.fromEntries(Object.entries(imports).reverse()) },
    ];
  });
  return Object.fromEntries(turned) as Documents;
}

/** The plain result and the issues, without the members whose JSON matches. */
function plainOf({ config, issues }: Composition, without: RegExp): string {
  const value = [config === undefined ? null : plain(config), issues];
  return JSON.stringify(value, (key: string, member: unknown) => (without.test(`${JSON.stringify(key)}:`) ? undefined : member), 1);
}
