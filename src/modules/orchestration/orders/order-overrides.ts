import { ANYWHERE } from '../../files/composition/compose/orders.js';
import { listed, shortened } from './listed.js';

type Members = Readonly<Record<string, unknown>>;

/** An override with its place among those of the city. */
export interface Override {
  readonly n: number;
  readonly members: Members;
}

/** Overrides that are told of: each look at the city's orders has all of them. */
const TOLD = 100;

/** What the city changes of orders, by the order's name and its place: a city may have thousands of both. */
export class Overrides {
  readonly #byPlace = new Map<string, Override[]>();
  readonly #used = new Set<number>();

  constructor(private readonly all: readonly Members[]) {
    for (const [n, members] of all.entries()) {
      const key = keyOf(members.name as string, (members.rig ?? '') as string);
      const there = this.#byPlace.get(key);
      if (there === undefined) this.#byPlace.set(key, [{ n, members }]);
      else there.push({ n, members });
    }
  }

  /** Those of an order, as they are written: the last word counts. */
  of(name: string, rig: string): readonly Override[] {
    const [own, anywhere] = [this.#byPlace.get(keyOf(name, rig)) ?? [], this.#byPlace.get(keyOf(name, ANYWHERE)) ?? []];
    for (const { n } of own) this.#used.add(n);
    for (const { n } of anywhere) this.#used.add(n);
    return anywhere.length === 0 ? own : [...own, ...anywhere].sort((a, b) => a.n - b.n);
  }

  /** What there is to say of those that were asked for by no order. */
  unmatched(orders: readonly { readonly name: string; readonly rig: string }[]): string[] {
    if (this.#used.size === this.all.length) return [];
    const places = placesOf(orders);
    const errors: string[] = [];
    for (const [n, { name }] of this.all.entries()) {
      if (this.#used.has(n)) continue;
      if (errors.length === TOLD) {
        errors.push(`${this.all.length - this.#used.size - TOLD} more of orders.overrides match nothing`);
        break;
      }
      const there = places.get(name as string);
      const where = there === undefined ? 'no such order' : `it is an order of ${listed(there)}`;
      errors.push(`orders.overrides[${n}] matches nothing: "${shortened(String(name))}" (${where})`);
    }
    return errors;
  }
}

function placesOf(orders: readonly { readonly name: string; readonly rig: string }[]): Map<string, string[]> {
  const places = new Map<string, string[]>();
  for (const { name, rig } of orders) {
    const place = rig === '' ? 'the city' : rig;
    const there = places.get(name);
    if (there === undefined) places.set(name, [place]);
    else there.push(place);
  }
  return places;
}

const keyOf = (name: string, rig: string): string => `${rig}\n${name}`;
