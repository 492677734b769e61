/**
 * Where the earlier epochs of a stream ended, oldest first. An epoch begins when a database is restored or promoted from a standby. Clients may have
 * read events that this database does not have, so seqs go on far above and none is ever given twice. Within an epoch they have no gaps.
 */
export type EpochEnds = readonly number[];

/** How far seqs move on with an epoch. No epoch has so many events, and some nine thousand epochs fit into a safe integer. */
export const EPOCH_STEP = 1_000_000_000_000;

/** Normalizes a position: the end of an epoch is the same place as the beginning of the next. */
export function placeOf(ends: EpochEnds, seq: number): number {
  let place = seq;
  for (const end of ends) if (place === end) place += EPOCH_STEP;
  return place;
}

/** For a `seq` that was lost between two epochs: the last position before it that this log has. Undefined for any other `seq`. */
export function lostAfter(ends: EpochEnds, seq: number, step = EPOCH_STEP): number | undefined {
  return ends.find((end) => seq > end && seq < end + step);
}

/** For a `seq` that a log has not reached yet or has lost between two epochs: the newest position before it that the log has. Undefined for any other. */
export function newestBefore(log: { readonly ends: EpochEnds; readonly head: number }, seq: number, step = EPOCH_STEP): number | undefined {
  return seq > log.head ? log.head : lostAfter(log.ends, seq, step);
}

/** How many events lie between two positions. */
export function distance(ends: EpochEnds, after: number, upto: number): number {
  let skipped = 0;
  for (const end of ends) if (after <= end && end + EPOCH_STEP <= upto) skipped += EPOCH_STEP;
  return upto - after - skipped;
}

/** How far one can read upwards from a position within its epoch. */
export function endAbove(ends: EpochEnds, after: number, upto: number): number {
  return Math.min(upto, ...ends.filter((end) => end > after));
}

/** The reverse of `placeOf`: for the beginning of an epoch the end of the one before. */
export function endOf(ends: EpochEnds, seq: number): number {
  let place = seq;
  for (const end of [...ends].reverse()) if (place === end + EPOCH_STEP) place = end;
  return place;
}

/** The position `count` events before another, or the first. */
export function before(ends: EpochEnds, seq: number, count: number): number {
  let upto = endOf(ends, seq);
  for (let left = count; ;) {
    const begin = beginBelow(ends, 0, upto);
    if (upto - begin >= left || begin === 0) return Math.max(0, upto - left);
    left -= upto - begin;
    upto = endOf(ends, begin);
  }
}

/** How far one can read downwards from a position within its epoch. */
export function beginBelow(ends: EpochEnds, after: number, upto: number): number {
  return Math.max(after, ...ends.map((end) => end + EPOCH_STEP).filter((begin) => begin < upto));
}
