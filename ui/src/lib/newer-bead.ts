import type { Bead } from '../api/types.js';

/** A bead as it was told last. */
export interface KeptBead {
  readonly bead: Bead | undefined;
  /** Frames may be missing, and the service may go on from a backup: whatever comes next counts more. */
  readonly doubted: boolean;
}

/** What is kept once `next` was told: the state with the higher revision, unless what is there is doubted. */
export function newerOf(kept: KeptBead, next: Bead): KeptBead {
  const older = kept.bead !== undefined && (kept.bead.revision ?? 0) > (next.revision ?? 0);
  return older && !kept.doubted ? kept : { bead: next, doubted: false };
}
