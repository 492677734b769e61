import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '../compose/limits.js';
import type { Issue } from '../issue.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { importsOfCity } from './imports-of.js';

/** A city that counts how often each of its files is asked for. */
class CountedTree extends MemoryTree {
  readonly reads = new Map<string, number>();

  override read(path: string): Promise<string | undefined> {
    this.reads.set(path, (this.reads.get(path) ?? 0) + 1);
    return super.read(path);
  }
}

function including(files: readonly string[]): CountedTree {
  const imports = '[imports.desk]\nsource = "desk"\n';
  const texts = Object.fromEntries(files.map((file) => [file, imports]));
  return new CountedTree({ ...texts, 'city.toml': `include = ${JSON.stringify(files)}\n` });
}

async function sourcesIn(city: MemoryTree): Promise<string[]> {
  const issues: Issue[] = [];
  const wishes = await importsOfCity(city, issues);
  expect(issues).toEqual([]);
  return wishes.map(({ source }) => source);
}

describe('what a city imports', () => {
  it('is in the files that it includes, too, wherever their paths count from', async () => {
    const imports = '[imports.desk]\nsource = "desk"\n';
    const city = new MemoryTree({ 'city.toml': 'include = ["./a.toml", "//parts/b.toml"]\n', 'a.toml': imports, 'parts/b.toml': imports });
    expect(await sourcesIn(city)).toEqual(['desk', 'desk']);
  });

  // Guard: what is imported in the old way is pinned.
  it('is what it includes in the old way, too', async () => {
    const more = '[workspace]\nincludes = ["more"]\n[packs.desk]\nsource = "packs/desk"\n';
    const own = 'include = ["more.toml"]\n[workspace]\nincludes = ["desk"]\n[packs.desk]\nsource = "old"\n[[rigs]]\nname = "web"\n';
    const city = new MemoryTree({ 'city.toml': `${own}includes = ["web", "desk"]\nimports.a = { source = "a" }\n`, 'more.toml': more });
    const wishes = await importsOfCity(city, []);
    expect(wishes.map(({ source, asked }) => [source, asked])).toEqual([
      ['packs/desk', 'workspace.includes[0] of city.toml'],
      ['web', 'rigs[0].includes[0] of city.toml'],
      ['packs/desk', 'rigs[0].includes[1] of city.toml'],
      ['a', 'rigs[0].imports.a of city.toml'],
      ['more', 'workspace.includes[0] of more.toml'],
    ]);
  });

  it('reads a file that is included over and over once', async () => {
    const city = including(Array.from({ length: 5_000 }, (_, n) => (n % 2 === 0 ? 'a.toml' : './a.toml')));
    expect(await sourcesIn(city)).toEqual(['desk']);
    expect(city.reads.get('a.toml')).toBe(1);
  });

  it('reads no more included files than a city may have', async () => {
    const city = including(Array.from({ length: LIMITS.fragments + 50 }, (_, n) => `f${n}.toml`));
    expect(await sourcesIn(city)).toHaveLength(LIMITS.fragments);
  });
});
