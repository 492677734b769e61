/** The times that a stream has joined the feed before the last one, the oldest first: the supervisor's newest event of then, and the stream's own. */
export type EarlierJoins = readonly number[];

/** So many of them are known of each stream. */
export const MOST_EARLIER = 16;
const BEFORE_THE_LOG = -1;

/**
 * Where a stream begins for whoever has had the feed up to this event of the supervisor's, and has been told nothing of it: where it joined first since then.
 * What it said until it left, and came back, follows. Before the log where it has joined too often since to know.
 */
export function joinedSince({ joinedSeq, earlier }: { readonly joinedSeq: number; readonly earlier: EarlierJoins }, since: number): number {
  for (let n = 0; n < earlier.length; n += 2)
    if (earlier[n]! >= since) return n === 0 && earlier.length === 2 * MOST_EARLIER ? BEFORE_THE_LOG : earlier[n + 1]!;
  return joinedSeq;
}
