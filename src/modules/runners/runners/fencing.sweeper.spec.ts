import { describe, expect, it } from '@jest/globals';
import { createLogger, AppLogger } from '../../../platform/logging/logger.js';
import { FencingSweeper } from './fencing.sweeper.js';
import { RunnerTimings } from './runner-timings.js';
import type { LostSession, SessionWorkRepository } from './session-work.repository.js';

const city = (streamId: number): LostSession['city'] => ({
  id: streamId,
  name: `c${streamId}`,
  path: '',
  stream: `c${streamId}`,
  streamId,
});
const lost = (pk: number, streamId: number): LostSession => ({ pk, generation: 1, runnerId: 'r', city: city(streamId) });

/** What is left of these, and which were tried, by pk. */
async function swept(
  sessions: readonly LostSession[],
  settle: (session: LostSession) => Promise<void>,
): Promise<{ taken: number; left: number[]; tried: number[] }> {
  const left = new Map(sessions.map((session) => [session.pk, session]));
  const tried: number[] = [];
  const repository: Pick<SessionWorkRepository, 'ofGoneRunners'> = {
    ofGoneRunners: async (_, { after, except, limit }) =>
      [...left.values()].filter(({ pk, city: { streamId } }) => pk > after && !except.includes(streamId)).slice(0, limit),
  };
  const exits = {
    settle: async (_: unknown, session: LostSession) => {
      tried.push(session.pk);
      await settle(session);
      left.delete(session.pk);
      return {};
    },
  };
  const states = { loseExpired: async () => [] };
  const given = [undefined, { purge: async () => undefined }, states, repository, exits, undefined, new RunnerTimings()] as never[];
  const sweeper = new FencingSweeper(
    ...([...given, new AppLogger(createLogger('silent'))] as unknown as ConstructorParameters<typeof FencingSweeper>),
  );
  const taken = await sweeper.sweep();
  return { taken, left: [...left.keys()], tried };
}

const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });

describe('a sweep over what lost runners have left', () => {
  // Guard: nobody starts what is not settled.
  it('gets beyond a city that somebody has locked, and ends', async () => {
    const many = Array.from({ length: 450 }, (_, n) => lost(n + 1, 1));
    const { taken, left, tried } = await swept([...many, lost(451, 2)], async ({ city: { streamId } }) => {
      if (streamId === 1) throw locked;
    });
    expect([taken, left.length, tried]).toEqual([1, 450, [1, 2, 451]]);
  });

  it('tries each session once, and leaves a city the others where one cannot be settled', async () => {
    const many = Array.from({ length: 450 }, (_, n) => lost(n + 1, 1));
    const { taken, left, tried } = await swept(many, async ({ pk }) => {
      if (pk % 3 === 0) throw new Error('it is broken');
      if (pk === 200) throw locked;
    });
    expect([taken, left.length, new Set(tried).size, tried.length]).toEqual([299, 151, 450, 450]);
  });

  it('waits for no city with the sessions of others', async () => {
    const other = Promise.withResolvers<void>();
    const { taken } = await swept([lost(1, 1), lost(2, 1), lost(3, 2)], async ({ city: { streamId } }) => {
      if (streamId === 1) await other.promise;
      else other.resolve();
    });
    expect(taken).toBe(3);
  });
});
