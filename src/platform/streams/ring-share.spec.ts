import { describe, expect, it } from '@jest/globals';
import { LOG_RING, RING_SLACK } from './channel.js';
import { RINGS_BYTES, ringShare } from './ring-share.js';

/** What each of full rings may hold in the end. */
function settled(rings: number): number {
  let bytes = LOG_RING.bytes;
  for (let n = 0; n < 20; n++) {
    const held = rings * bytes * RING_SLACK;
    if (held <= RINGS_BYTES) break;
    bytes = ringShare(bytes, held, rings);
  }
  return bytes;
}

describe('what rings may hold', () => {
  // Guard: rings of many filters are short.
  it.each([1, 10, 200, 1_000, 5_000])('is bounded for %i of them together', (rings) => {
    expect(rings * settled(rings) * RING_SLACK).toBeLessThanOrEqual(RINGS_BYTES);
  });

  it('is enough for each where they are few, and a few events where they are very many', () => {
    expect(settled(1)).toBe(LOG_RING.bytes);
    expect(settled(100)).toBe(512 * 1024);
    expect(ringShare(300 * 1024, RINGS_BYTES + 1, 100)).toBe(256 * 1024);
    expect(ringShare(4 * 1024, RINGS_BYTES + 1, 1_000_000)).toBe(4 * 1024);
    expect(ringShare(4 * 1024, 0, 1_000_000)).toBe(8 * 1024);
  });
});
