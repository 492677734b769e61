/**
 * Where the earlier epochs of a stream ended, oldest first. An epoch begins when a database is restored, or promoted from a standby: what
 * that does not hold may have been read, so the numbers go on far above and none is ever given twice. Within an epoch they have no gaps.
 */
export type EpochEnds = readonly number[];

/** By how much the numbers of a stream are moved on. More were never given in one epoch; some nine thousand epochs fit. */
export const EPOCH_STEP = 1_000_000_000_000;

/** The same place as the present epoch says it: behind the end of an epoch is where the next one begins. */
export function placeOf(ends: EpochEnds, seq: number): number {
  let place = seq;
  for (const end of ends) if (place === end) place += EPOCH_STEP;
  return place;
}

/** The last place before `seq` that this log still has, when `seq` is of what was lost between two epochs; undefined for any other. */
export function lostAfter(ends: EpochEnds, seq: number, step = EPOCH_STEP): number | undefined {
  return ends.find((end) => seq > end && seq < end + step);
}

/** The newest place before `seq` that a log has, when it has not got that far, or lost it between two epochs. */
export function newestBefore(log: { readonly ends: EpochEnds; readonly head: number }, seq: number, step = EPOCH_STEP): number | undefined {
  return seq > log.head ? log.head : lostAfter(log.ends, seq, step);
}

/** How many events lie between two places. */
export function distance(ends: EpochEnds, after: number, upto: number): number {
  let skipped = 0;
  for (const end of ends) if (after <= end && end + EPOCH_STEP <= upto) skipped += EPOCH_STEP;
  return upto - after - skipped;
}

/** How far one may read upwards from a place without meeting the end of an epoch. */
export function endAbove(ends: EpochEnds, after: number, upto: number): number {
  return Math.min(upto, ...ends.filter((end) => end > after));
}

/** The same downwards: a place at which an epoch begins is the end of the one before. */
export function endOf(ends: EpochEnds, seq: number): number {
  let place = seq;
  for (const end of [...ends].reverse()) if (place === end + EPOCH_STEP) place = end;
  return place;
}

/** The place so many events before another, or the first. */
export function before(ends: EpochEnds, seq: number, count: number): number {
  let upto = endOf(ends, seq);
  for (let left = count; ;) {
    const begin = beginBelow(ends, 0, upto);
    if (upto - begin >= left || begin === 0) return Math.max(0, upto - left);
    left -= upto - begin;
    upto = endOf(ends, begin);
  }
}

/** How far one may read downwards. */
export function beginBelow(ends: EpochEnds, after: number, upto: number): number {
  return Math.max(after, ...ends.map((end) => end + EPOCH_STEP).filter((begin) => begin < upto));
}
