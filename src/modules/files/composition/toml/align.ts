import { isTable, same } from './equal.js';

/** Keys that tell the tables of a list apart, as far as a table has them. */
const IDENTITY = ['dir', 'name', 'agent', 'rig', 'key', 'value', 'template', 'provider', 'model'];

/** For every desired item of a list the present one that it goes on from, in rising order, or undefined for a new one. */
export function align(present: readonly unknown[], desired: readonly unknown[]): (number | undefined)[] {
  const result = new Array<number | undefined>(desired.length).fill(undefined);
  const shortest = Math.min(present.length, desired.length);
  let head = 0;
  while (head < shortest && same(present[head], desired[head])) result[head] = head++;
  let tail = 0;
  while (tail < shortest - head && same(present.at(-1 - tail), desired.at(-1 - tail))) {
    result[desired.length - 1 - tail] = present.length - 1 - tail;
    tail++;
  }
  const places = new Map<string, number[]>();
  // Backwards, so that the first of those with equal identities is the last of its list and can be taken off.
  for (let n = present.length - tail - 1; n >= head; n--) {
    const id = identity(present[n]);
    const known = places.get(id);
    if (known === undefined) places.set(id, [n]);
    else known.push(n);
  }
  let from = head;
  for (let n = head; n < desired.length - tail; n++) {
    const known = places.get(identity(desired[n])) ?? [];
    let found = known.pop();
    while (found !== undefined && found < from) found = known.pop();
    if (found === undefined) continue;
    result[n] = found;
    from = found + 1;
  }
  return result;
}

function identity(item: unknown): string {
  if (isTable(item)) return JSON.stringify(IDENTITY.map((key) => item[key] ?? null));
  return Array.isArray(item) ? 'list' : `${typeof item} ${String(item)}`;
}
