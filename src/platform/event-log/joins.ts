/** Pairs of seqs, the oldest first, one for each time that a stream has joined the feed before the last: the head of the supervisor's stream, and its own. */
export type EarlierJoins = readonly number[];

/** Pairs that are kept of each stream. */
export const MOST_EARLIER = 16;
const BEFORE_THE_LOG = -1;

/**
 * The position at which a stream begins for a client that has read the feed up to the supervisor's event `since` and has no position in this stream: where the
 * stream first joined after that. So the client gets all events since then, also when the stream has left and come back. The position is before
 * the log where the stream has joined more often since than is kept.
 */
export function joinedSince({ joinedSeq, earlier }: { readonly joinedSeq: number; readonly earlier: EarlierJoins }, since: number): number {
  for (let n = 0; n < earlier.length; n += 2)
    if (earlier[n]! >= since) return n === 0 && earlier.length === 2 * MOST_EARLIER ? BEFORE_THE_LOG : earlier[n + 1]!;
  return joinedSeq;
}
