import '../../../../contract/events/all.js';
import { knownEvents } from '../../../../contract/events/define.js';
import { nearest } from '../../../../contract/nearest.js';
import { ONLY_WITH } from '../formats/order.format.js';
import { Leaf, List, Table, type Node } from '../tree.js';
import type { Agents } from './agents.js';
import { bareName } from './collect.js';
import type { Run } from './run.js';

const CITY = '';
/** No rig has such a name. */
export const ANYWHERE = '*';
const key = (rig: string | undefined, name: string | undefined): string => `${rig ?? CITY}\n${name}`;
/** A slot of a pool, as work may be sent to it. */
const SLOT = /-\d+$/;
/** The order of one rig, as it is left out. */
const OF_RIG = /:rig:[^:]+$/;

/**
 * Tells of orders that come to nothing: whose formula or pool there is not, that wait for an event which nobody emits, and that say what
 * their trigger does not hear. All of that may come by another file, or by a program of somebody's: the order itself can be used.
 */
export function checkOrders(run: Run, agents: Agents, orders: Node, formulas: Node): void {
  const names = new Set(
    [...agents.all].flatMap(({ qualifiedName }) => [qualifiedName, withoutRig(qualifiedName), bareName(qualifiedName)]),
  );
  const [agentNames, formulaNames] = [[...names], namesOf(formulas)];
  // By name for each rig, the city, and anywhere: there may be thousands of both.
  const known = new Set(
    tablesOf(formulas).flatMap((entry) => [key(entry.text('rig'), entry.text('name')), key(ANYWHERE, entry.text('name'))]),
  );
  for (const entry of tablesOf(orders)) {
    const order = entry.table('order');
    if (order === undefined) continue;
    const [formula, pool, on] = [order.get('formula'), order.get('pool'), order.get('on')];
    const rig = entry.text('rig');
    // One of the city that is for each rig finds there what only the rig has.
    const places = order.text('scope') === 'rig' ? [ANYWHERE] : [CITY, rig];
    if (formula instanceof Leaf && !places.some((place) => known.has(key(place, String(formula.value)))))
      run.warn(formula, noFormula(run, String(formula.value), formulaNames));
    if (formula !== undefined && pool instanceof Leaf && pool.value !== '') {
      const name = String(pool.value);
      if (!names.has(name) && !names.has(name.replace(SLOT, '')))
        run.warn(pool, `there is no agent "${name}"${run.suggestions.of(name, agentNames)}`);
    }
    if (on instanceof Leaf) checkEvent(run, on);
    checkTrigger(run, order);
  }
}

/** Tells of orders that the city leaves out, or changes, and that there are not. */
export function checkOrdersTable(run: Run, city: Table, orders: Node): void {
  const table = city.table('orders');
  const [skip, overrides] = [table?.get('skip'), table?.tables('overrides') ?? []];
  if (skip === undefined && overrides.length === 0) return;
  const entries = tablesOf(orders);
  // Where orders of a name are. One for the city is there once, whichever rigs import it.
  const names = new Map<string, Set<string>>();
  for (const entry of entries) {
    const place = entry.table('order')?.text('scope') === 'city' ? CITY : (entry.text('rig') ?? CITY);
    const places = names.get(entry.text('name')!);
    if (places === undefined) names.set(entry.text('name')!, new Set([place]));
    else places.add(place);
  }
  const listed = [...names.keys()];
  const aliases = new Set(entries.flatMap((entry) => entry.table('order')?.texts('skip_aliases') ?? []));
  const check = (leaf: Node | undefined, isKnown: (name: string) => boolean): void => {
    if (!(leaf instanceof Leaf) || isKnown(String(leaf.value))) return;
    const name = String(leaf.value);
    run.warn(leaf, `there is no order "${name}"${run.suggestions.of(name, listed)}`);
  };
  for (const leaf of skip instanceof List ? skip.items : [])
    check(leaf, (name) => aliases.has(name) || names.has(name.replace(OF_RIG, '')) || names.has(name));
  for (const override of overrides) {
    check(override.get('name'), (name) => names.has(name));
    // One for all rigs is put on the order of each of them, whenever orders are read.
    if (override.text('rig') === ANYWHERE)
      run.spend(
        'copies',
        (names.get(override.text('name')!)?.size ?? 0) * (override.entries.size + (override.table('env')?.entries.size ?? 0)),
      );
  }
}

/** Tells of agents whose work would be done by a formula that there is nowhere. */
export function checkDefaultFormulas(run: Run, agents: Agents, formulas: Node): void {
  const names = namesOf(formulas);
  const known = new Set(names);
  for (const { table, definition } of agents.all) {
    const formula = table.get('default_sling_formula');
    if (definition.origin === 'implicit' || !(formula instanceof Leaf) || formula.value === '') continue;
    if (!known.has(String(formula.value))) run.warn(formula, noFormula(run, String(formula.value), names));
  }
}

/** Each once, wherever it is. */
const namesOf = (formulas: Node): string[] => [...new Set(tablesOf(formulas).map((entry) => entry.text('name')!))];

const noFormula = (run: Run, name: string, names: readonly string[]): string =>
  `there is no formula "${name}"${run.suggestions.of(name, names)}`;

function checkTrigger(run: Run, order: Table): void {
  const trigger = order.text('trigger');
  if (trigger === undefined) return;
  for (const [key, triggers] of Object.entries(ONLY_WITH)) {
    const written = order.get(key);
    if (written !== undefined && !triggers.includes(trigger))
      run.warn(written, `has no effect: it is for trigger ${triggers.join(' or ')}, and this is ${trigger}`);
  }
}

/** Programs have kinds of events of their own; one that is nearly a kind of ours is a slip. */
function checkEvent(run: Run, on: Leaf): void {
  const kinds = knownEvents();
  if (kinds.has(String(on.value))) return;
  const meant = nearest(String(on.value), [...kinds.keys()]);
  if (meant !== undefined) run.warn(on, `is no event of the service; did you mean ${meant}?`);
}

const tablesOf = (node: Node): Table[] => (node instanceof List ? node.items.filter((item): item is Table => item instanceof Table) : []);

const withoutRig = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
