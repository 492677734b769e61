import { forEach } from '../lib/parallel.js';

/** A bead as its neighbours tell it. */
export interface Found {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly kind: string;
  /** The one that it leads to waits for the other. */
  readonly waits: boolean;
}
export interface Around {
  readonly beads: readonly Found[];
  readonly edges: readonly Edge[];
}

const AT_ONCE = 4;

/** What lies around a bead, so many steps far, and no more requests than `most`. `more`: there is something beyond. */
export async function walk(
  start: Found,
  read: (id: string) => Promise<Around>,
  depth: number,
  most: number,
): Promise<Around & { readonly more: boolean }> {
  const beads = new Map([[start.id, start]]);
  const edges = new Map<string, Edge>();
  let ring: string[] = [start.id];
  let asked = 0;
  for (let step = 0; step < depth && ring.length > 0; step++) {
    const now = ring.slice(0, most - asked);
    asked += now.length;
    const next = new Set<string>();
    const outcome = await forEach(now, AT_ONCE, async (id) => {
      const around = await read(id);
      for (const bead of around.beads)
        if (!beads.has(bead.id)) {
          beads.set(bead.id, bead);
          next.add(bead.id);
        }
      for (const edge of around.edges) edges.set(JSON.stringify(edge), edge);
    });
    // The one that it is about has to be there; of others the rest is shown.
    const lost = outcome.failed.find(({ item }) => item === start.id);
    if (lost !== undefined) throw lost.why;
    ring = [...next];
  }
  return { beads: [...beads.values()], edges: [...edges.values()], more: ring.length > 0 };
}
