import type { Table } from '../tree.js';
import type { AgentDefinition } from './agent-definition.js';
import type { Import, Pack } from './pack-graph.js';
import { costOf, patchAgent } from './patch-agent.js';
import type { Run } from './run.js';

/** What one import brings: the pack and those below it, each once. */
export interface Collected {
  /** What is imported before what imports it: a later layer wins. */
  readonly layers: readonly Pack[];
  /** What imports before what is imported: the first one wins. */
  readonly outermost: readonly Pack[];
  /** With the patches of the packs. */
  readonly agents: readonly AgentDefinition[];
  readonly sessions: readonly CollectedSession[];
}

export interface CollectedSession {
  readonly table: Table;
  readonly pack: Pack;
}

/**
 * Gathers what imports bring. The answer for a pack is the same in every place that imports it, so it is kept. What is gone over is
 * spent: packs that lie below each other bring the same agents to many imports, in files of a few characters.
 */
export class Collector {
  readonly #kept = new Map<string, Collected>();

  constructor(private readonly run: Run) {}

  of({ pack, transitive }: Import): Collected {
    const key = `${transitive ? 'all' : 'own'} ${pack.id}`;
    const kept = this.#kept.get(key) ?? this.#collect(pack, transitive);
    this.#kept.set(key, kept);
    // Whoever asks goes over what there is.
    this.run.spend('looks', kept.layers.length + kept.agents.length + kept.sessions.length);
    return kept;
  }

  #collect(pack: Pack, transitive: boolean): Collected {
    const layers = this.#postOrder(pack, transitive, false);
    const whole = wholeOnes(pack, transitive);
    const agents = new Map<string, AgentDefinition[]>();
    const sessions: CollectedSession[] = [];
    for (const layer of layers) {
      agents.set(layer.id, [...layer.agents]);
      for (const table of layer.table.tables('named_session')) sessions.push({ table, pack: layer });
      this.#patch(layer, whole.has(layer.id), agents, sessions);
    }
    return {
      layers,
      outermost: this.#postOrder(pack, transitive, true).reverse(),
      agents: layers.flatMap(({ id }) => agents.get(id)!),
      sessions,
    };
  }

  /** Applies a pack's patches to the agents and sessions of the pack and of those below it. */
  #patch(pack: Pack, transitive: boolean, agents: Map<string, AgentDefinition[]>, sessions: CollectedSession[]): void {
    const patches = pack.table.table('patches');
    const [ofAgents, named] = [patches?.tables('agent') ?? [], patches?.tables('named_session') ?? []];
    if (ofAgents.length + named.length === 0) return;
    const reached = new Set(this.#postOrder(pack, transitive, false).map(({ id }) => id));
    const byName = new Map<string, [list: AgentDefinition[], at: number][]>();
    for (const id of reached) {
      const list = agents.get(id) ?? [];
      this.run.spend('looks', list.length);
      for (const [at, { name }] of list.entries()) {
        const places = byName.get(name) ?? [];
        places.push([list, at]);
        byName.set(name, places);
      }
    }
    for (const patch of ofAgents) {
      const places = byName.get(bareName(patch.text('name') ?? '')) ?? [];
      // What it imports may have one, and stays out.
      if (places.length === 0 && transitive)
        this.run.error(patch.get('name')!, 'there is no agent of this name in the pack or in what it imports');
      for (const [list, at] of places) {
        const { table } = list[at]!;
        this.run.spend('copies', costOf(table, patch));
        list[at] = { ...list[at]!, table: patchAgent(table, patch) };
      }
    }
    if (named.length === 0) return;
    this.run.spend('looks', sessions.length);
    const places = new Map<string | undefined, number>();
    for (const [at, { table, pack: from }] of sessions.entries()) {
      const name = table.text('name') ?? table.text('template');
      if (reached.has(from.id) && !places.has(name)) places.set(name, at);
    }
    for (const patch of named) {
      const name = patch.text('name') ?? patch.text('template');
      const at = places.get(name);
      const mode = patch.get('mode');
      if (at === undefined && transitive)
        this.run.error(
          patch.get('name') ?? patch.get('template') ?? patch,
          'there is no such named session in the pack or in what it imports',
        );
      else if (at !== undefined && mode !== undefined) sessions[at] = { ...sessions[at]!, table: sessions[at]!.table.with(['mode', mode]) };
    }
  }

  /** A pack and those below it, each after everything that it imports. */
  #postOrder(pack: Pack, transitive: boolean, reversed: boolean): Pack[] {
    const order = new Map<string, Pack>();
    const entered = new Set<string>();
    const whole = wholeOnes(pack, transitive);
    const visit = (at: Pack): void => {
      if (whole.has(at.id) && !entered.has(at.id)) {
        entered.add(at.id);
        this.run.spend('looks', at.imports.length);
        const imports = reversed ? at.imports.toReversed() : at.imports;
        for (const each of imports) visit(each.pack);
      }
      if (!order.has(at.id)) order.set(at.id, at);
    };
    visit(pack);
    return [...order.values()];
  }
}

/** Ids of the packs, from this one on, that come with what they import: also those that another import brings alone. */
function wholeOnes(pack: Pack, transitive: boolean): Set<string> {
  const whole = new Set(transitive ? [pack.id] : []);
  const visit = (at: Pack): void => {
    for (const each of at.imports) {
      if (!each.transitive || whole.has(each.pack.id)) continue;
      whole.add(each.pack.id);
      visit(each.pack);
    }
  };
  if (transitive) visit(pack);
  return whole;
}

/** Without rig and binding. */
export function bareName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('.')) + 1);
}
