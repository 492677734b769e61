import { Leaf, List, Table, type Node } from '../tree.js';
import { concat, overlaid, tableFrom } from './nodes.js';

/** Tables by name of which the city's entry wins over the one of its root pack. */
const BY_NAME = ['imports', 'providers', 'upstreams', 'agent_defaults'];
/** Lists in which what the root pack says comes before what the city says. */
const PACK_FIRST = ['named_session', 'service', 'webhook'];

/** The city's document on top of its root pack. Agents stay apart: they have an order of their own. */
export function withRootPack(city: Table, pack: Table): Table {
  return city.with(
    ...BY_NAME.map((key) => [key, overlaid(pack.get(key), city.get(key))] as const),
    ...PACK_FIRST.map((key) => [key, concat(pack.get(key), city.get(key))] as const),
    ['pricing', pricesOver(pack.get('pricing'), city.get('pricing'))],
    ['runtimes', pack.get('runtimes')],
    ['patches', patchesAfter(pack.table('patches'), city.table('patches'))],
  );
}

/** Prices of both sides, those of `over` first; of two for the same model of a provider only that one stays. */
export function pricesOver(base: Node | undefined, over: Node | undefined): List | undefined {
  if (!(base instanceof List) || !(over instanceof List)) return concat(over, base);
  const priced = new Set(over.items.map(priceOf));
  const rest = base.items.filter((item) => !priced.has(priceOf(item)));
  return concat(over, new List(rest, base.origin, base.at));
}

/** What a price is for: it can be compared with others. */
export function priceOf(item: Node): string {
  return item instanceof Table ? JSON.stringify([item.text('provider'), item.text('model')]) : item instanceof Leaf ? item.at : '';
}

/** Patches of all kinds, one after the other. */
export function patchesAfter(first: Table | undefined, then: Table | undefined): Table | undefined {
  if (first === undefined || then === undefined) return then ?? first;
  const kinds = new Set([...first.entries.keys(), ...then.entries.keys()]);
  return tableFrom([...kinds].map((kind) => [kind, concat(first.get(kind), then.get(kind))] as const));
}
