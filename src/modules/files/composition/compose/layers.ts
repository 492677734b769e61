import type { List, Table } from '../tree.js';
import type { Collector } from './collect.js';
import type { Conventions } from './conventions.js';
import type { Found } from './found.js';
import type { Home } from './home.js';
import { LIMITS } from './limits.js';
import { derivedTree, listFrom } from './nodes.js';
import type { Import } from './pack-graph.js';
import type { Rig } from './rigs.js';
import type { Run } from './run.js';

export type Kind = 'formulas' | 'orders' | 'commands' | 'doctor' | 'mcp' | 'overlays';

/** What the city and its rigs say of one kind, each the latest layer of its place first come last. */
export interface LayerInput {
  readonly city: readonly Import[];
  readonly own: Conventions;
  readonly rigs: readonly Rig[];
  /** Formulas of a rig's `formulas_dir`, by rig. */
  readonly rigFormulas: ReadonlyMap<string, readonly Found[]>;
}

/**
 * The files of one kind that win, one a place and name. A later layer wins: packs of the city, the city's own; for a rig
 * on top of those its packs and its own folder, of which only what the rig adds is listed.
 */
export function layered(run: Run, collector: Collector, kind: Kind, input: LayerInput): List {
  const winners: { rig: string; found: Found; shadows: readonly Found[] }[] = [];
  const add = (rig: string, layers: readonly (readonly Found[])[]): void => {
    const byName = new Map<string, Found[]>();
    for (const layer of layers)
      for (const found of layer) {
        const under = byName.get(found.name);
        if (under === undefined) byName.set(found.name, [found]);
        else under.unshift(found);
      }
    for (const [found, ...shadows] of byName.values()) winners.push({ rig, found: found!, shadows });
  };
  const packs = (imports: readonly Import[]): (readonly Found[])[] => [
    ...new Set(imports.flatMap((each) => collector.of(each).layers.map(({ conventions }) => conventions[kind]))),
  ];
  add('', [...packs(input.city), input.own[kind]]);
  for (const { name, imports } of input.rigs) {
    if (winners.length > LIMITS.files) break;
    add(name, [...packs(imports), kind === 'formulas' ? (input.rigFormulas.get(name) ?? []) : []]);
  }
  if (winners.length > LIMITS.files)
    run.error({ origin: { file: 'city.toml' }, at: '' }, `the city and its rigs have more than ${LIMITS.files} ${kind}`);
  return listFrom(
    winners.slice(0, LIMITS.files).map(({ rig, found: { name, file, sha256, pack, type, order }, shadows }) => {
      const under =
        kind === 'formulas' && shadows.length > 0 ? { shadows: shadows.map((each) => ({ file: each.file, pack: each.pack })) } : {};
      const entry = derivedTree({ name, rig, file, sha256, pack, ...(type === undefined ? {} : { type }), ...under }) as Table;
      return order === undefined ? entry : entry.with(['order', order]);
    }),
  );
}

/** The folders in which a place looks for what its formulas name, by rig, the strongest last: as files begin whose `Issue.file` is known. */
export function foldersOf(
  collector: Collector,
  { city, rigs }: Pick<LayerInput, 'city' | 'rigs'>,
): { rig: string; homes: readonly Home[] }[] {
  const homes = (imports: readonly Import[]): Home[] => imports.flatMap((each) => collector.of(each).layers.map(({ home }) => home));
  const places = [{ rig: '', imports: city }, ...rigs.map(({ name, imports }) => ({ rig: name, imports }))];
  return places.map(({ rig, imports }) => ({ rig, homes: [...new Set(homes(imports))] })).filter((each) => each.homes.length > 0);
}
