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

/** The prefix of a name: the initials of its parts, a short name itself, else how it begins. Always a valid prefix. */
export function derivePrefix(name: string): string {
  const stem = name.replace(/-(py|go)$/, '');
  const words = stem.split(/[-_]+/).filter((word) => word !== '');
  const parts = words.length > 1 ? words : humps(stem);
  const short = parts.length > 1 ? parts.map((part) => part[0]).join('') : stem.length <= 3 ? stem : stem.slice(0, 2);
  const usable = short
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/^[0-9]+/, '');
  return usable === '' ? 'b' : usable.slice(0, 12);
}

/** `frontDesk` has the parts `front` and `Desk`. */
function humps(word: string): string[] {
  return word.split(/(?<=[a-z0-9])(?=[A-Z])/);
}
