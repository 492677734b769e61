import type { Bead } from '../api/types.js';

/** What a list keeps of a bead: descriptions are long, metadata may be, and no row shows them. As `view=summary` answers it. */
export function rowOf(bead: Bead): Bead {
  if (bead.description === undefined && bead.metadata === undefined) return bead;
  const { description = '', metadata: _, ...row } = bead;
  return { has_description: description !== '', ...row };
}

/** What a row knows of all that somebody reads and changes; undefined where that is to be read first. */
export const wholeOf = (row: Bead | undefined): Bead | undefined => (row?.has_description === true ? undefined : row);
