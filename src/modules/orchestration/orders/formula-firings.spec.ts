import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../../../contract/problems.js';
import type { Work } from '../../work/work/work.js';
import type { LaunchOrder } from '../runs/launch/launch.service.js';
import { FormulaFirings } from './formula-firings.js';
import type { FiringRow } from './order-rows.js';

type Parts = readonly { readonly actor: string; readonly body: (work: Work) => Promise<void> }[];

interface City {
  readonly firings: FormulaFirings;
  readonly sizes: number[];
  readonly ended: string[];
  readonly go: () => void;
}

/** Launches of a city whose first transaction takes until `go`. A launch of `bad` is refused. Each transaction fails with `broken`. */
function city({ broken, gone = false }: { broken?: Error; gone?: boolean } = {}): City {
  const held = Promise.withResolvers<void>();
  const [sizes, ended]: [number[], string[]] = [[], []];
  let asked = 0;
  const work = {
    runAll: async (_: unknown, parts: Parts): Promise<void> => {
      sizes.push(parts.length);
      if (broken !== undefined) throw broken;
      if (sizes.length === 1) await held.promise;
      const before = ended.length;
      try {
        for (const { body } of parts)
          await body({ tx: {}, city: { streamId: 1, stream: 'alpha' }, emit: () => undefined } as unknown as Work);
      } catch (error) {
        ended.splice(before);
        throw error;
      }
    },
  };
  const repository = {
    city: async () => (gone && asked++ > 0 ? undefined : { name: 'alpha', streamId: 1 }),
    lockAll: async () => new Map(),
    end: async (_: unknown, { pk }: FiringRow) => ended.push(String(pk)) > 0,
    launched: async () => undefined,
  };
  const launches = {
    launch: async (_: unknown, { recipe }: LaunchOrder): Promise<object> => {
      if (recipe.formula === 'bad') throw new ProblemError('invalid_request', 'nobody to go to');
      return { run: { id: 'run' } };
    },
  };
  const preparation = {
    prepare: async (_: unknown, { formula }: { formula: string }) => {
      if (formula === 'crowded') throw new ProblemError('unavailable', 'other work is in front of this; try again');
      return { formula, steps: Array.from({ length: formula === 'long' ? 900 : 5 }) };
    },
  };
  const ahead = { ready: async () => [] };
  const times = { now: async () => new Date() };
  const firings = new FormulaFirings(
    ...([preparation, launches, ahead, work, {}, {}, repository, times] as unknown as ConstructorParameters<typeof FormulaFirings>),
  );
  return { firings, sizes, ended, go: held.resolve };
}

const firing = (pk: number, formula = 'good'): FiringRow =>
  ({ pk, stream_id: 1, scoped_name: `o${pk}`, definition: { formula }, rig: '', vars: {} }) as unknown as FiringRow;

describe('launches of orders', () => {
  it('that are ready during a transaction of their city share the next one', async () => {
    const { firings, sizes, ended, go } = city();
    const all = [1, 2, 3, 4].map((pk) => firings.carryOut(firing(pk), 'worker'));
    // All of them are prepared by then: nothing of that waits for anything.
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect({ sizes, ended }).toEqual({ sizes: [1, 3], ended: ['1', '2', '3', '4'] });
    await firings.carryOut(firing(5), 'worker');
    expect(sizes).toEqual([1, 3, 1]);
  });

  it('that are long together take several', async () => {
    const { firings, sizes, go } = city();
    const all = [firing(1), ...[2, 3, 4, 5, 6].map((pk) => firing(pk, 'long'))].map((one) => firings.carryOut(one, 'worker'));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect(sizes).toEqual([1, 2, 2, 1]);
  });

  // Guard: leases are renewed in this order, too.
  it('that share a transaction end in the order of their keys', async () => {
    const { firings, ended, go } = city();
    const all = [4, 3, 1, 2].map((pk) => firings.carryOut(firing(pk), 'worker'));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect(ended).toEqual(['4', '1', '2', '3']);
  });

  // Guard: what cannot be launched takes nobody with it.
  it('fail alone', async () => {
    const { firings, ended, go } = city();
    const all = [firing(1), firing(2), firing(3, 'bad'), firing(4)].map((one) => firings.carryOut(one, 'worker'));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    const refused = { passes: false, error: expect.stringContaining('nobody to go to') };
    expect(await Promise.all(all)).toEqual([undefined, undefined, refused, undefined]);
    expect(ended).toEqual(['1', '2', '4']);
  });

  // Guard: what passes ends no firing, or what has fired it would be used up for nothing.
  it('are to come again while they have no turn', async () => {
    const { firings, ended } = city();
    const crowded = { passes: true, error: expect.stringContaining('other work is in front of this') };
    expect([await firings.carryOut(firing(1, 'crowded'), 'worker'), ended]).toEqual([crowded, []]);
  });

  // Guard: writers of the city that are in front pass.
  it('are to come again when the database had no turn for them, and not when they took too long', async () => {
    const failed = (code: string): Error => Object.assign(new Error(code), { code });
    expect(await city({ broken: failed('55P03') }).firings.carryOut(firing(1), 'worker')).toEqual({ passes: true, error: '55P03' });
    await expect(city({ broken: failed('57014') }).firings.carryOut(firing(1), 'worker')).rejects.toThrow('57014');
  });

  // Guard: what has fired waits while its city does not run.
  it('are to come again when their city stops meanwhile, and fail when it is gone', async () => {
    const broken = new ProblemError('city_not_found', 'city not found or not running: alpha');
    for (const gone of [false, true])
      expect(await city({ broken, gone }).firings.carryOut(firing(1), 'worker')).toMatchObject({ passes: !gone });
  });
});
