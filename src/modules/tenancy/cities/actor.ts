/** Who acts when nobody asked: the events of background work carry this name. */
export const ACTOR = 'reconciler';
