import { problem } from '../../../contract/problems.js';
import { MASK, masked } from '../../files/composition/mask.js';
import { isTable } from './documents.js';

/**
 * What a client has read as masked means the value that is stored; everything else is meant as it stands. `key` is the one that the
 * value stands under in the files and in the body.
 *
 * @throws ProblemError validation_failed for a masked value that nothing is stored for, or more than one value
 */
export function unmasked<T>(key: string, given: T, stored: unknown): T {
  const shown = masked(stored, key);
  if (Array.isArray(given)) {
    const list = { given: given as unknown[], said: masked(given as unknown[], key), stored: listOf(stored), seen: listOf(shown) };
    return given.map((item: unknown, at) => (isMasked(item) ? known(itemMeant(list, key, at), `${key}.${at}`) : item)) as T;
  }
  if (isTable(given)) {
    const [now, seen] = [isTable(stored) ? stored : {}, isTable(shown) ? shown : {}];
    const of = (name: string, value: unknown): unknown =>
      Object.hasOwn(now, name) && seen[name] === value ? now[name] : known(undefined, `${key}.${name}`);
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, isMasked(value) ? of(name, value) : value])) as T;
  }
  return isMasked(given) ? (known(shown === given ? stored : undefined, key) as T) : given;
}

interface SentBack {
  readonly given: readonly unknown[];
  /** What is given, as it would be shown: a secret that is new counts as one that is masked. */
  readonly said: readonly unknown[];
  readonly stored: readonly unknown[];
  readonly seen: readonly unknown[];
}

/**
 * The stored item that a masked one of a list means. A list may show different secrets alike, and whoever sends it back may have put
 * items in, out, or elsewhere: so what stands before an item counts, and not its place.
 *
 * @throws ProblemError validation_failed where that leaves different values
 */
function itemMeant({ given, said, stored, seen }: SentBack, key: string, at: number): unknown {
  const item = given[at];
  const name = nameOf(said, at);
  const alike = placesOf(seen, (place) => seen[place] === item);
  const named = alike.filter((place) => nameOf(seen, place) === name);
  const values = new Set((named.length > 0 ? named : alike).map((place) => stored[place]));
  if (values.size <= 1) return [...values][0];
  // Different ones under one name: where all are sent back, the order says which. A new one may stand for any of them, or beside them.
  const now = placesOf(given, (place) => given[place] === item && nameOf(said, place) === name);
  if (now.length === named.length) return stored[named[now.indexOf(at)]!];
  const errors = [{ location: `body.${key}.${at}`, message: 'several stored values look like this; say it in full' }];
  throw problem('validation_failed', 'a masked value stands for the one that is stored, and there are several', { errors });
}

const placesOf = (list: readonly unknown[], is: (place: number) => boolean): number[] => [...list.keys()].filter(is);

/** What says which item of a list this is: the one before it, as `--token`. A flag has its own name, and one mask is like another. */
function nameOf(list: readonly unknown[], at: number): unknown {
  const item = list[at];
  return (typeof item === 'string' && item.startsWith('-')) || isMasked(list[at - 1]) ? undefined : list[at - 1];
}

const isMasked = (value: unknown): boolean => typeof value === 'string' && value.includes(MASK);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

function known(value: unknown, at: string): unknown {
  if (value !== undefined) return value;
  const errors = [{ location: `body.${at}`, message: 'is masked, and no value is stored for it' }];
  throw problem('validation_failed', 'a masked value stands for the one that is stored, and there is none', { errors });
}
