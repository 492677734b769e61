import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { StoodBack, sweepDue } from './due-sweep.js';
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
      back: new StoodBack(),
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

  /** Beads of one city that are due, of which some fail when they are looked at, and some stay due. */
  function failing(ids: readonly string[], isBad: (id: string) => boolean, stays?: string) {
    const due = new Set(ids);
    const tried: string[] = [];
    const source = {
      name: 'beads',
      back: new StoodBack(),
      nextDue: (except: readonly number[], limit: number) =>
        Promise.resolve(
          except.includes(0) || due.size === 0
            ? undefined
            : { city: { id: 0, name: 'c', path: '', stream: '', streamId: 0 }, ids: [...due].slice(0, limit) },
        ),
      look: (_: Work, ids: readonly string[]): Promise<number> => {
        tried.push(ids.length === 1 ? ids[0]! : `${ids.length}`);
        const bad = ids.find(isBad);
        if (bad !== undefined) return Promise.reject(new Error(`no ${bad}`));
        for (const id of ids) if (id !== stays) due.delete(id);
        return Promise.resolve(ids.filter((id) => id !== stays).length);
      },
    };
    return { due, tried, sweep: () => sweepDue(source, work, log) };
  }

  // Guard: nothing that is due in the city would ever be decided.
  it('looks at all others of a city in which one fails', async () => {
    const { due, tried, sweep } = failing(many(150), (id) => ['b2', 'b120'].includes(id));
    expect(await sweep()).toBe(148);
    expect([...due]).toEqual(['b2', 'b120']);
    expect(tried.slice(0, 6)).toEqual(['100', 'b0', 'b1', 'b2', '100', '47']);
    expect(tried).toHaveLength(6 + 18 + 1);
  });

  // Guard: where all fail, each of them would be tried in a transaction of its own, once a second.
  it('ends the turn of a city in which some fail one after the other, and comes to those behind them in later ones', async () => {
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const warn = jest.spyOn(log, 'warn');
    const { due, tried, sweep } = failing(many(150), (id) => Number(id.slice(1)) < 120);
    expect(await sweep()).toBe(0);
    expect(tried.splice(0)).toEqual(['100', 'b0', '100', 'b1', '100', 'b2']);
    expect(warn).toHaveBeenCalledTimes(3);
    for (let turn = 2; turn <= 200 && due.size > 120; turn++) {
      now += 1_000;
      await sweep();
    }
    expect([...due]).toEqual(many(120));
    now += 7_200_000;
    tried.length = 0;
    await sweep();
    expect(tried.slice(0, 2)).toEqual(['100', 'b0']);
  });

  it('keeps few of a city in mind, and reads no more of one for what has failed in others', () => {
    const back = new StoodBack();
    for (const id of many(1_001)) back.add(1, id);
    for (const id of many(10)) back.add(2, id);
    expect([back.most, back.has(1, 'b0'), back.has(1, 'b1'), back.has(2, 'b0'), back.has(3, 'b0')]).toEqual([
      1_000,
      false,
      true,
      true,
      false,
    ]);
  });

  it('looks at several at once again where none of those that failed together fails alone', async () => {
    let bad: string | undefined = 'b1';
    const { tried, sweep } = failing(many(150), (id) => {
      const fails = id === bad;
      if (fails) bad = undefined;
      return fails;
    });
    expect(await sweep()).toBe(150);
    expect([tried[0], tried.length, tried.at(-1)]).toEqual(['100', 1 + 100 + 1, '50']);
  });

  it('goes on behind one that stays due while it looks for the one that fails', async () => {
    const { due, tried, sweep } = failing(['stays', 'bad', 'good'], (id) => id === 'bad', 'stays');
    expect([await sweep(), tried, [...due]]).toEqual([1, ['3', 'stays', 'bad', 'good'], ['stays', 'bad']]);
  });

  it('leaves a city that is not to be had to the next turn', async () => {
    const nextDue = jest.fn((except: readonly number[]) =>
      Promise.resolve(except.includes(0) ? undefined : { city: { id: 0, name: 'c', path: '', stream: '', streamId: 0 }, ids: many(3) }),
    );
    const busy = { run: () => Promise.reject(new Error('busy')) } as unknown as WorkService;
    expect(await sweepDue({ name: 'beads', back: new StoodBack(), nextDue, look: () => Promise.resolve(1) }, busy, log)).toBe(0);
    expect(nextDue).toHaveBeenCalledTimes(3);
  });

  // Guard: the sweep would never end.
  it('looks no more at what stays due as it is', async () => {
    const nextDue = jest.fn((except: readonly number[]) =>
      Promise.resolve(except.includes(0) ? undefined : { city: { id: 0, name: 'c', path: '', stream: '', streamId: 0 }, ids: ['b'] }),
    );
    expect(await sweepDue({ name: 'beads', back: new StoodBack(), nextDue, look: () => Promise.resolve(0) }, work, log)).toBe(0);
    expect(nextDue).toHaveBeenCalledTimes(4);
  });
});
