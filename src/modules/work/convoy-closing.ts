import type { ClosedReaction } from './work.js';

/** Closes the convoys whose last open member has just been closed. */
export const closeConvoys: ClosedReaction = async () => {};
