/** By what an item is named in other commands; the first that it has. */
const NAMES = [
  'id',
  'name',
  'run_id',
  'service_name',
  'session_id',
  'request_id',
  'bead_id',
  'order',
  'target',
  'binding',
  'agent',
  'route',
  'provider',
  'seq',
  'revision',
] as const;

/** What other commands call this item, or the items of this answer. */
export function nameOfItem(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const item = value as Readonly<Record<string, unknown>>;
  for (const name of NAMES) {
    const found = item[name];
    if (typeof found === 'string' && found !== '') return [found];
    if (typeof found === 'number') return [String(found)];
  }
  // An answer about one thing, or with a list in it.
  for (const inner of [item.items, item.bead, item.convoy, item.session, item.root]) {
    if (Array.isArray(inner)) return inner.flatMap(nameOfItem);
    if (typeof inner === 'object' && inner !== null) return nameOfItem(inner);
  }
  return [];
}
