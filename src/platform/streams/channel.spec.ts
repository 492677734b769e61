import { describe, expect, it } from '@jest/globals';
import { Metrics } from '../health/metrics.js';
import { Channel, type RingLimit } from './channel.js';

function published(frames: number, bytes: number, limit?: RingLimit): Channel {
  const source = { replay: () => Promise.resolve(undefined), currentId: () => '' };
  const channel = new Channel(source, new Metrics().counter({ name: 'sent', help: 'sent' }), limit);
  for (let seq = 1; seq <= frames; seq++) channel.publish({ bytes: Buffer.alloc(bytes), bodyAt: 0, streamId: 1, seq });
  return channel;
}

describe('the ring of a channel', () => {
  it.each<[string, RingLimit | undefined, number, number, number]>([
    ['frames', { frames: 8, bytes: 1_000 }, 100, 1, 10],
    ['bytes', { frames: 1_000, bytes: 100 }, 100, 10, 12],
    ['the frames of a log, unless it is told', undefined, 6_000, 1, 5_120],
  ])('is bounded by %s, with a quarter more before it is cut', (_, limit, frames, bytes, most) => {
    const channel = published(frames, bytes, limit);
    expect(channel.end).toBe(frames);
    expect(channel.end - channel.base).toBeLessThanOrEqual(most);
    expect(channel.end - channel.base).toBeGreaterThan(0);
    expect(channel.frame(channel.end - 1)!.seq).toBe(frames);
  });
});
