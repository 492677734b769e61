export type TomlTable = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** A list that can be written as `[[sections]]`. */
export function isTables(value: unknown): value is readonly TomlTable[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTable);
}

/** Whether two values say the same; the order of keys and what objects inherit do not matter. */
export function same(a: unknown, b: unknown): boolean {
  if (a instanceof Date || b instanceof Date) return a instanceof Date && b instanceof Date && a.toISOString() === b.toISOString();
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, n) => same(item, b[n]));
  if (!isTable(a)) return Object.is(a, b);
  if (!isTable(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
