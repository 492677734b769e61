import { PACK_FORMAT } from '../formats/pack.format.js';
import type { FoundPack } from '../packs/pack-store.js';
import { fileName } from '../trees/file-tree.js';
import { Leaf, List, Table } from '../tree.js';
import { withDefaults } from './agent-defaults.js';
import { folderAgents, inlineAgent, type AgentDefinition } from './agent-definition.js';
import { readConventions, type Conventions } from './conventions.js';
import type { Home } from './home.js';
import { LIMITS } from './limits.js';
import { sorted } from './names.js';
import { NO_KEYS } from './nodes.js';
import { below, type Located, type Run, type Written } from './run.js';

/** A pack as its files say, read once however often it is imported. */
export interface Pack {
  readonly id: string;
  readonly name: string;
  readonly home: Home;
  readonly table: Table;
  readonly version: string | undefined;
  readonly commit: string | undefined;
  readonly agents: readonly AgentDefinition[];
  readonly conventions: Conventions;
  /** What it imports itself; complete once the pack has been followed. */
  readonly imports: Import[];
  /** How many packs lie below each other from here on, itself included. */
  height: number;
}

/** One pack that a city, rig or pack takes in. */
export interface Import {
  /** '' for an include, which gives no name of its own. */
  readonly binding: string;
  readonly table: Table;
  readonly pack: Pack;
  /** Whether what the pack imports comes with it. */
  readonly transitive: boolean;
  /** Whether names that hide each other are not worth a word. */
  readonly silent: boolean;
}

/** An import as it is written. */
export interface Asked {
  readonly binding: string;
  readonly source: string;
  readonly table: Table;
  readonly where: Written;
  /** Missing is worth a warning only: nothing of the city's depends on it yet. */
  readonly optional?: boolean;
}

/** Finds packs and reads them. What is missing, goes round in circles or is too much is told at the import. */
export class PackGraph {
  readonly #packs = new Map<string, Pack | undefined>();
  #imports = 0;

  constructor(private readonly run: Run) {}

  /** Every pack that was read, in the order in which they were met. */
  get packs(): Pack[] {
    return [...this.#packs.values()].filter((pack) => pack !== undefined);
  }

  /** The packs that are asked for, each with everything below it. */
  async follow(asked: readonly Asked[], from: Located, path: readonly Pack[] = []): Promise<Import[]> {
    const found: Import[] = [];
    for (const one of asked) {
      const imported = await this.#followOne(one, from, path);
      if (imported !== undefined) found.push(imported);
    }
    return found;
  }

  /** Whether a directory holds a pack; nothing is told. */
  async isPack(source: string, from: Located): Promise<boolean> {
    const found = await this.run.input.packs.find({ source, version: undefined, from: from.tree, folder: from.path });
    if ('missing' in found) return false;
    // Not by a list of what is there: somebody works in that folder, and each file that comes or goes would have the city composed anew.
    return (await found.tree.read(found.folder === '' ? 'pack.toml' : `${found.folder}/pack.toml`)) !== undefined;
  }

  async #followOne(asked: Asked, from: Located, path: readonly Pack[]): Promise<Import | undefined> {
    const { run } = this;
    run.spend('steps', 1);
    if (++this.#imports >= LIMITS.imports) {
      if (this.#imports === LIMITS.imports) run.error(asked.where, `there are more than ${LIMITS.imports} imports`);
      return undefined;
    }
    const version = asked.table.text('version');
    const found = await run.input.packs.find({ source: asked.source, version, from: from.tree, folder: from.path });
    if ('missing' in found) {
      if (asked.optional === true) run.warn(asked.where, found.missing);
      else run.error(asked.where, found.missing);
      return undefined;
    }
    const pack = await this.#packOf(found, asked, path);
    if (pack === undefined) return undefined;
    const { table, binding } = asked;
    return { binding, table, pack, transitive: table.flag('transitive') !== false, silent: table.text('shadow') === 'silent' };
  }

  /** The pack with everything below it; undefined, and told, when it cannot be imported from here. */
  async #packOf(found: FoundPack, { where }: Asked, path: readonly Pack[]): Promise<Pack | undefined> {
    const { run } = this;
    const again = path.findIndex(({ id }) => id === found.id);
    if (again >= 0) {
      const names = [...path.slice(again), path[again]!].map(({ name }) => name);
      run.error(where, `packs import each other in a circle: ${names.join(' -> ')}`);
      return undefined;
    }
    const tooDeep = (height: number): boolean => {
      if (path.length + height <= LIMITS.depth) return false;
      run.error(where, `there are more than ${LIMITS.depth} imports below each other`);
      return true;
    };
    if (this.#packs.has(found.id)) {
      const known = this.#packs.get(found.id);
      return known === undefined || tooDeep(known.height) ? undefined : known;
    }
    if (tooDeep(1)) return undefined;
    if (this.#packs.size === LIMITS.packs) {
      run.error(where, `there are more than ${LIMITS.packs} packs`);
      return undefined;
    }
    const pack = await readPack(run, found, where);
    this.#packs.set(found.id, pack);
    if (pack === undefined) return undefined;
    const below = await this.follow([...importsOf(pack.table.table('imports')), ...includesOf(pack.table)], pack.home, [...path, pack]);
    pack.imports.push(...below);
    pack.height = 1 + Math.max(0, ...below.map((each) => each.pack.height));
    return pack;
  }
}

async function readPack(run: Run, found: FoundPack, where: Written): Promise<Pack | undefined> {
  const { tree, folder, id, version, commit } = found;
  const path = below(folder, 'pack.toml');
  const before = run.issues.length;
  const table = await run.table({ tree, path }, PACK_FORMAT);
  const name = table?.table('pack')?.text('name');
  if (table === undefined || name === undefined) {
    if (run.issues.length === before) run.error(where, `${fileName(tree, path)} is missing`);
    return undefined;
  }
  const home: Home = { tree, path: folder, pack: name };
  const conventions = await readConventions(run, home);
  const inline = table.tables('agent').map((agent) => inlineAgent(agent, home));
  const defaults = table.table('agent_defaults');
  const agents = [...inline, ...(await folderAgents(run, home, conventions.digests))].map((agent) => withoutDir(run, agent));
  const filled = agents.map((agent) => ({ ...agent, table: withDefaults(agent.table, defaults) }));
  return { id, name, home, table, version, commit, agents: filled, conventions, imports: [], height: 1 };
}

/** A pack does not know the rigs of the cities that import it. */
function withoutDir(run: Run, agent: AgentDefinition): AgentDefinition {
  const dir = agent.table.get('dir');
  if (dir === undefined) return agent;
  if (dir instanceof Leaf && dir.value !== '') run.warn(dir, 'has no effect in a pack; the rig is the one that imports it');
  return { ...agent, table: agent.table.without('dir') };
}

/** The entries of an `imports` table, sorted by binding. */
export function importsOf(imports: Table | undefined): Asked[] {
  return sorted(imports?.entries.keys() ?? []).flatMap((binding) => {
    const table = imports!.table(binding);
    const source = table?.text('source');
    return table === undefined || source === undefined ? [] : [{ binding, source, table, where: table.get('source')! }];
  });
}

/** The packs of an old `includes` list. `named` are the city's `packs`, which an include may name. */
export function includesOf(table: Table | undefined, key = 'includes', named?: Table): Asked[] {
  const list = table?.get(key);
  if (!(list instanceof List)) return [];
  return list.items.flatMap((item) => {
    if (!(item instanceof Leaf) || typeof item.value !== 'string') return [];
    const entry = named?.table(item.value);
    return [{ binding: '', source: entry?.text('source') ?? item.value, table: entry ?? NO_KEYS, where: item }];
  });
}
