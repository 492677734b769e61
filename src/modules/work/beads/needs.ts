/** What a new bead depends on, as the create body writes it. */
export const NEED = /^(?:(?:blocks|waits-for|conditional-blocks|related|discovered-from):)?[^:\s]+$/;

/** The first id that is named with two types: a pair of beads has one edge, of which the last would silently be it. */
export function namedTwice(needs: readonly string[]): string | undefined {
  const types = new Map<string, string>();
  for (const [type, ids] of edgesOf(needs))
    for (const id of ids) {
      if ((types.get(id) ?? type) !== type) return id;
      types.set(id, type);
    }
  return undefined;
}

/** The edges that `needs` stand for, by type; `blocks` unless said. */
export function edgesOf(needs: readonly string[]): Map<string, string[]> {
  const edges = new Map<string, string[]>();
  for (const need of needs) {
    const at = need.indexOf(':');
    const type = at === -1 ? 'blocks' : need.slice(0, at);
    edges.set(type, [...(edges.get(type) ?? []), need.slice(at + 1)]);
  }
  return edges;
}
