import { describe, expect, it } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import type { Checkpoints } from './checkpoints.js';
import { FeedGroups } from './feed-groups.js';
import type { Feed } from './feed-scope.js';
import type { CityGroup, StreamState } from './feed-state.js';
import type { StreamLogRepository } from './stream-log.repository.js';

describe('groups of a city that has stopped', () => {
  const MB = 1 << 20;

  // Guard: what nobody publishes to any more makes no ring shorter.
  it('leave the rings of the others as long as they are', () => {
    const sent = new Counter({ name: 'sent', help: 'sent', registers: [new Registry()] });
    const groups = new FeedGroups({} as Feed, {} as StreamLogRepository, {} as Checkpoints, sent);
    const streamOf = (id: number): StreamState => ({ id, groups: new Map<string, CityGroup>() }) as unknown as StreamState;
    const bytes = Buffer.alloc(MB);
    const full = (stream: StreamState, type: string): CityGroup => {
      const group = groups.ofCity(stream, [type]);
      for (let seq = 1; seq <= 8; seq++) group.channel.publish({ bytes, bodyAt: 0, streamId: stream.id, seq });
      return group;
    };
    const [stopped, going] = [streamOf(1), streamOf(2)];
    for (let n = 0; n < 10; n++) full(stopped, `${n}`);
    const { channel } = full(going, 'x');
    groups.leave(stopped);
    for (let n = 0; n < 5; n++) groups.tick(15_000);
    expect(channel.bytes).toBe(8 * MB);
  });
});
