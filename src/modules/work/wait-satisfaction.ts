import type { ClosedReaction } from './work.js';

/** Makes the waits ready that waited for this bead. */
export const satisfyWaits: ClosedReaction = async () => {};
