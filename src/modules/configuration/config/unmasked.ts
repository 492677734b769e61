import { problem } from '../../../contract/problems.js';
import { MASK, masked } from '../../files/composition/mask.js';
import { isTable } from './documents.js';

/**
 * What a client has read as masked means the value that is stored; everything else is meant as it stands. `key` is the one that the
 * value stands under in the files and in the body.
 *
 * @throws ProblemError validation_failed for a masked value that nothing is stored for
 */
export function unmasked<T>(key: string, given: T, stored: unknown): T {
  const shown = masked(stored, key);
  if (Array.isArray(given)) {
    const [now, seen] = [listOf(stored), listOf(shown)];
    // The same place first: a list may show two different secrets alike.
    const placeOf = (item: unknown, at: number): number => (seen[at] === item ? at : seen.indexOf(item));
    return given.map((item: unknown, at) => (isMasked(item) ? known(now[placeOf(item, at)], `${key}.${at}`) : item)) as T;
  }
  if (isTable(given)) {
    const [now, seen] = [isTable(stored) ? stored : {}, isTable(shown) ? shown : {}];
    const of = (name: string, value: unknown): unknown =>
      Object.hasOwn(now, name) && seen[name] === value ? now[name] : known(undefined, `${key}.${name}`);
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, isMasked(value) ? of(name, value) : value])) as T;
  }
  return isMasked(given) ? (known(shown === given ? stored : undefined, key) as T) : given;
}

const isMasked = (value: unknown): boolean => typeof value === 'string' && value.includes(MASK);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

function known(value: unknown, at: string): unknown {
  if (value !== undefined) return value;
  const errors = [{ location: `body.${at}`, message: 'is masked, and no value is stored for it' }];
  throw problem('validation_failed', 'a masked value stands for the one that is stored, and there is none', { errors });
}
