import { join } from '../../files/composition/tree.js';

/** A plain value as JSON knows it. */
type Plain = unknown;

function isTable(value: Plain): value is Record<string, Plain> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The keys under which two values differ, in dotted form and in order of appearance. Lists count as one value. */
export function changedKeys(before: Plain, after: Plain, path = '', into: string[] = []): string[] {
  if (isTable(before) && isTable(after)) {
    for (const key of Object.keys(before)) changedKeys(before[key], own(after, key), join(path, key), into);
    for (const key of Object.keys(after)) if (!Object.hasOwn(before, key)) changedKeys(undefined, after[key], join(path, key), into);
  } else if (isTable(after) && before === undefined && Object.keys(after).length > 0) {
    for (const key of Object.keys(after)) changedKeys(undefined, after[key], join(path, key), into);
  } else if (isTable(before) && after === undefined && Object.keys(before).length > 0) {
    for (const key of Object.keys(before)) changedKeys(before[key], undefined, join(path, key), into);
  } else if (!same(before, after)) into.push(path);
  return into;
}

/** Names may be those that objects have by themselves. */
export function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function same(a: Plain, b: Plain): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  return JSON.stringify(a) === JSON.stringify(b);
}

/** A list of named things as a table of them, so that they are compared by name. */
export function byName<T extends object>(list: readonly T[] | undefined, name: (item: T) => string): Record<string, T> {
  const result: Record<string, T> = Object.create(null) as Record<string, T>;
  for (const item of list ?? []) result[name(item)] = item;
  return result;
}
