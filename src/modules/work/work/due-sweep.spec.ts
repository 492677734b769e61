import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { sweepDue } from './due-sweep.js';
import type { Work } from './work.js';
import type { WorkService } from './work.service.js';

const log = new AppLogger(createLogger('silent'));
/** Tells whose work it is by its city alone. */
const work = {
  run: async (city: CityScope, _by: string, body: (work: Work) => Promise<unknown>) => ({ value: await body({ city } as Work), index: 0 }),
} as unknown as WorkService;

/** Beads that are due, by city, those that have been so the longest first; each takes `ms`. `comes` is what becomes due in the last city with a look. Answers whose were looked at, look by look. */
async function looks(
  cities: readonly (readonly string[])[],
  ms: number,
  comes: (look: number) => readonly string[] = () => [],
): Promise<readonly string[]> {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const due = cities.map((ids) => [...ids]);
  const looked: string[] = [];
  await sweepDue(
    {
      name: 'beads',
      nextDue: (except, limit) => {
        const streamId = due.findIndex((ids, n) => ids.length > 0 && !except.includes(n));
        const city = { id: streamId, name: `c${streamId}`, path: '', stream: '', streamId };
        return Promise.resolve(streamId < 0 ? undefined : { city, ids: due[streamId]!.slice(0, limit) });
      },
      look: ({ city: { streamId } }, ids, isLate) => {
        let n = 0;
        do {
          n++;
          now += ms;
        } while (n < ids.length && !isLate());
        looked.push(`${streamId}: ${due[streamId]!.splice(0, n).length}`);
        due.at(-1)!.push(...comes(looked.length));
        return Promise.resolve(n);
      },
    },
    work,
    log,
  );
  return looked;
}

const many = (n: number): string[] => Array.from({ length: n }, (_, at) => `b${at}`);

describe('a sweep of what is due', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  // Guards: the timers of one city wait for no other one.
  it('looks at each other city before it comes back to one whose looks take long', async () => {
    expect(await looks([many(5), many(1), many(4)], 300)).toEqual(['0: 2', '1: 1', '2: 2', '0: 2', '2: 2', '0: 1']);
  });

  it('looks at each other city before it comes back to one that has many', async () => {
    expect(await looks([many(250), many(1)], 0)).toEqual(['0: 100', '1: 1', '0: 100', '0: 50']);
  });

  it('looks at what comes meanwhile in a city that had nothing left', async () => {
    const comes = (look: number): string[] => (look === 3 ? ['late'] : []);
    expect(await looks([many(8), many(1)], 300, comes)).toEqual(['0: 2', '1: 1', '0: 2', '1: 1', '0: 2', '0: 2']);
  });

  // Guard: the sweep would never end.
  it('looks no more at what stays due as it is', async () => {
    const nextDue = jest.fn((except: readonly number[]) =>
      Promise.resolve(except.includes(0) ? undefined : { city: { id: 0, name: 'c', path: '', stream: '', streamId: 0 }, ids: ['b'] }),
    );
    expect(await sweepDue({ name: 'beads', nextDue, look: () => Promise.resolve(0) }, work, log)).toBe(0);
    expect(nextDue).toHaveBeenCalledTimes(4);
  });
});
