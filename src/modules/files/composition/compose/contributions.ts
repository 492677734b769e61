import { isDeepStrictEqual } from 'node:util';
import { fileName } from '../trees/file-tree.js';
import { plain, type Node, type Table } from '../tree.js';
import type { Collector } from './collect.js';
import type { Home } from './home.js';
import { derived, fallback, listFrom, tableFrom } from './nodes.js';
import type { Import, Pack } from './pack-graph.js';
import type { Rig } from './rigs.js';
import { priceOf } from './root-pack.js';
import type { Run, Written } from './run.js';

/** A pack and what imports it: '' for the city, else a rig. */
interface Place {
  readonly pack: Pack;
  readonly rig: string;
}

/** The city's document with the tables that packs add to it. What is there already stays; of packs the first one wins. */
export function withContributions(run: Run, city: Table, own: Home, root: Table | undefined, found: readonly Place[]): Table {
  const everywhere = distinct(found.map(({ pack }) => pack));
  const inCity = distinct(found.filter(({ rig }) => rig === '').map(({ pack }) => pack));
  for (const { pack, rig } of found) {
    if (rig !== '')
      for (const service of pack.table.tables('service')) run.error(service, 'a pack that a rig imports cannot have services');
  }
  const services = inCity.flatMap((pack) => pack.table.tables('service').map((service) => ofPack(service, pack)));
  const hooks = distinctPlaces(found).flatMap(({ pack, rig }) =>
    pack.table.tables('webhook').map((hook) => (rig === '' ? hook : hook.with(['rig', hook.get('rig') ?? derived(rig)]))),
  );
  const globals = [...(root === undefined ? [] : [{ table: root, home: own, rig: '' }])];
  for (const { pack, rig } of distinctPlaces(found)) globals.push({ table: pack.table, home: pack.home, rig });
  return city.with(
    ['providers', firstByName(city, 'providers', everywhere)],
    ['upstreams', firstByName(city, 'upstreams', everywhere)],
    ['pricing', firstPrices(city, everywhere)],
    ['runtimes', runtimes(run, city, everywhere)],
    ['service', unique(run, [...services, ...city.tables('service')].map(withServiceDefaults), (table) => table.text('name')!, 'service')],
    [
      'webhook',
      unique(
        run,
        [...hooks, ...city.tables('webhook')],
        (table) => JSON.stringify([table.text('rig') ?? '', table.text('name')]),
        'webhook',
      ),
    ],
    ['global', listFrom(globals.flatMap(({ table, home, rig }) => globalOf(table, home, rig)))],
  );
}

/** The packs of the city's imports and of its rigs', in the order in which the first one wins. */
export function placesOfPacks(collector: Collector, city: readonly Import[], rigs: readonly Rig[]): Place[] {
  const at = (imports: readonly Import[], rig: string): Place[] =>
    imports.flatMap((each) => collector.of(each).outermost.map((pack) => ({ pack, rig })));
  return [...at(city, ''), ...rigs.flatMap((rig) => at(rig.imports, rig.name))];
}

function distinct(packs: readonly Pack[]): Pack[] {
  return [...new Set(packs)];
}

function distinctPlaces(places: readonly Place[]): Place[] {
  const byPlace = new Map<string, Place>();
  for (const place of places) {
    const key = `${place.rig}\0${place.pack.id}`;
    if (!byPlace.has(key)) byPlace.set(key, place);
  }
  return [...byPlace.values()];
}

function ofPack(service: Table, { name, home }: Pack): Table {
  return service.with(['pack', derived(name)], ['source_dir', derived(dirOf(home))]);
}

function withServiceDefaults(service: Table): Table {
  const defaults = { kind: 'workflow', publish_mode: 'private', state_root: `.gc/services/${service.text('name')}` };
  const missing = Object.entries(defaults).filter(([key]) => service.get(key) === undefined);
  return service.with(...missing.map(([key, value]) => [key, fallback(value)] as const));
}

function dirOf({ tree, path }: Home): string {
  return fileName(tree, path === '' ? '.' : path);
}

function firstByName(city: Table, key: string, packs: readonly Pack[]): Table {
  const entries = new Map<string, Node>(city.table(key)?.entries);
  for (const { table } of packs)
    for (const [name, node] of table.table(key)?.entries ?? []) if (!entries.has(name)) entries.set(name, node);
  return tableFrom(entries);
}

function firstPrices(city: Table, packs: readonly Pack[]): Node {
  const byModel = new Map<string, Node>();
  for (const table of [city, ...packs.map((pack) => pack.table)])
    for (const price of table.tables('pricing')) {
      const model = priceOf(price);
      if (!byModel.has(model)) byModel.set(model, price);
    }
  return listFrom([...byModel.values()]);
}

function runtimes(run: Run, city: Table, packs: readonly Pack[]): Table {
  const entries = new Map<string, Node>(city.table('runtimes')?.entries);
  for (const { table } of packs)
    for (const [name, node] of table.table('runtimes')?.entries ?? []) {
      const known = entries.get(name);
      if (known === undefined) entries.set(name, node);
      else if (!isDeepStrictEqual(plain(known), plain(node)))
        run.error(node, `contradicts what ${known.origin.file} says about this runtime`);
    }
  return tableFrom(entries);
}

/** What runs in each session, with the folder that it counts from and the rig whose sessions are meant. */
function globalOf(table: Table, home: Home, rig: string): Node[] {
  const live = table.table('global')?.get('session_live');
  if (live === undefined) return [];
  const pack = table.table('pack')?.get('name');
  return [
    tableFrom([
      ['pack', pack],
      ['rig', derived(rig)],
      ['source_dir', derived(dirOf(home))],
      ['session_live', live],
    ]),
  ];
}

function unique(run: Run, tables: readonly Table[], keyOf: (table: Table) => string, what: string): Node {
  const found = new Map<string, Table>();
  for (const table of tables) {
    const known = found.get(keyOf(table));
    if (known === undefined) found.set(keyOf(table), table);
    else run.error(nameOf(table), `there is a ${what} "${table.text('name')}" in ${known.origin.file} already`);
  }
  return listFrom([...found.values()]);
}

function nameOf(table: Table): Written {
  return table.get('name') ?? table;
}
