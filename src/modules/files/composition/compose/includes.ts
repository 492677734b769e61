import { Leaf, List, type Table } from '../tree.js';
import { LIMITS } from './limits.js';
import { pathFrom, type Written } from './run.js';

/** An entry of a city's `include`: the file that it names, or why none is read for it. */
export type Include = { readonly where: Written } & ({ readonly path: string } | { readonly fault: string });

/** What a city's document includes, each file once and no more than a city may have; behind the first too many nothing is looked at. */
export function includesOfCity(city: Table): Include[] {
  const include = city.get('include');
  const found: Include[] = [];
  const seen = new Set<string>();
  for (const where of include instanceof List ? include.items : []) {
    if (!(where instanceof Leaf)) continue;
    const path = pathFrom('', String(where.value));
    if (path === undefined) found.push({ where, fault: 'is not a path inside the city' });
    else if (seen.has(path)) found.push({ where, fault: 'is included already' });
    else if (seen.size === LIMITS.fragments) return [...found, { where, fault: `there are more than ${LIMITS.fragments} fragments` }];
    else {
      seen.add(path);
      found.push({ where, path });
    }
  }
  return found;
}
