/** What agents, services and bindings may be called. */
export const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
/** What ids of beads may begin with. */
export const PREFIX = /^[a-z][a-z0-9]{0,11}$/;
/** Prefixes that are used for other things than the beads of a rig. */
export const RESERVED_PREFIXES: ReadonlySet<string> = new Set(['gcg', 'gcm', 'gcs', 'gco', 'gcn']);

/** `[rig/][binding.]name`. */
export function qualified(dir: string, binding: string, name: string): string {
  const bound = binding === '' ? name : `${binding}.${name}`;
  return dir === '' ? bound : `${dir}/${bound}`;
}

/** Sorted by code unit, so that the order is the same everywhere. */
export function sorted(names: Iterable<string>): string[] {
  return [...names].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
