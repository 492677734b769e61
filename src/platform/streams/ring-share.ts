import { LOG_RING, RING_SLACK } from './channel.js';

/** Bytes of all rings together. Beyond it each ring is shortened, to its share or to ENOUGH_BYTES, whichever is less, and at most to half at once. */
export const RINGS_BYTES = 64 << 20;
const ENOUGH_BYTES = 256 * 1024;
/** A few events, so that a subscriber that is hardly behind finds them in the ring. */
const LEAST_BYTES = 4 * 1024;

/** The new limit of each of `rings` rings, whose limit was `bytes` and which hold `held` bytes together. */
export function ringShare(bytes: number, held: number, rings: number): number {
  if (held <= RINGS_BYTES) return Math.min(LOG_RING.bytes, bytes * 2);
  const share = RINGS_BYTES / RING_SLACK / Math.max(1, rings);
  return Math.max(LEAST_BYTES, Math.min(ENOUGH_BYTES, share), bytes / 2);
}
