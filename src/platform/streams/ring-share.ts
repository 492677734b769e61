import { LOG_RING, RING_SLACK } from './channel.js';

/** What all rings may hold together; beyond it each of them gets shorter: to what is enough where there are few, else to its share. */
export const RINGS_BYTES = 64 << 20;
const ENOUGH_BYTES = 256 * 1024;
/** A few events: who has read them a moment ago is behind no other. */
const LEAST_BYTES = 4 * 1024;

/** What each of so many rings may hold from now on, which may hold `bytes` until now and together hold `held`. */
export function ringShare(bytes: number, held: number, rings: number): number {
  if (held <= RINGS_BYTES) return Math.min(LOG_RING.bytes, bytes * 2);
  const share = RINGS_BYTES / RING_SLACK / Math.max(1, rings);
  return Math.max(LEAST_BYTES, Math.min(ENOUGH_BYTES, share), bytes / 2);
}
