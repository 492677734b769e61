import type { Bead } from '../api/types.js';

export type ColumnId = 'open' | 'blocked' | 'in_progress' | 'closed';

export interface Column {
  readonly id: ColumnId;
  readonly name: string;
  readonly beads: readonly Bead[];
}

const COLUMNS: readonly (readonly [ColumnId, string])[] = [
  ['open', 'Open'],
  ['blocked', 'Waits for others'],
  ['in_progress', 'In progress'],
  ['closed', 'Closed'],
];

/** Which column a bead is in: what waits for another bead is apart from what can be begun. */
const columnOf = ({ status, is_blocked: blocked }: Pick<Bead, 'status' | 'is_blocked'>): ColumnId =>
  status === 'closed' || status === 'in_progress' ? status : blocked === true ? 'blocked' : 'open';

/** Beads by how far they are, each column in the order in which they came. Those that a filter leaves empty are not there. */
export function columnsOf(beads: readonly Bead[], status: string | undefined): readonly Column[] {
  const found: Record<ColumnId, Bead[]> = { open: [], blocked: [], in_progress: [], closed: [] };
  for (const bead of beads) found[columnOf(bead)].push(bead);
  const shown = (id: ColumnId): boolean => {
    if (status === 'all') return true;
    if (status === undefined) return id !== 'closed';
    return id === status || (status === 'open' && id === 'blocked');
  };
  return COLUMNS.filter(([id]) => shown(id)).map(([id, name]) => ({ id, name, beads: found[id] }));
}

/** The bead beside, above or below one: sideways at the same height, as far as the column goes. Columns without beads are passed over. */
export function neighborOf(columns: readonly Column[], id: string | undefined, across: number, down: number): string | undefined {
  const full = columns.filter(({ beads }) => beads.length > 0);
  const column = full.findIndex(({ beads }) => beads.some((bead) => bead.id === id));
  if (column < 0) return full[0]?.beads[0]?.id;
  const row = full[column]!.beads.findIndex((bead) => bead.id === id);
  const { beads } = full[Math.max(0, Math.min(full.length - 1, column + across))]!;
  return beads[Math.max(0, Math.min(beads.length - 1, row + down))]!.id;
}
