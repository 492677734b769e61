import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../../../contract/problems.js';
import type { Work } from '../../work/work/work.js';
import type { LaunchOrder } from '../runs/launch/launch.service.js';
import { FormulaFirings } from './formula-firings.js';
import type { Ended, FiringRow } from './order-rows.js';

type Parts = readonly { readonly actor: string; readonly body: (work: Work) => Promise<void> }[];

/** Launches of a city whose first transaction takes until `go`. A launch of `bad` is refused. */
function city(): { firings: FormulaFirings; sizes: number[]; ended: string[]; failed: string[]; given: number[]; go: () => void } {
  const held = Promise.withResolvers<void>();
  const [sizes, ended, failed, given]: [number[], string[], string[], number[]] = [[], [], [], []];
  const work = {
    runAll: async (_: unknown, parts: Parts): Promise<void> => {
      sizes.push(parts.length);
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
    city: async () => ({ name: 'alpha', streamId: 1 }),
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
  const others = {
    end: async (_: unknown, { pk }: FiringRow, __: string, { error }: Ended) => failed.push(`${pk}: ${error}`),
    giveBack: async (_: unknown, { pk }: FiringRow) => given.push(pk),
  };
  const times = { now: async () => new Date() };
  const firings = new FormulaFirings(
    ...([preparation, launches, ahead, work, {}, others, repository, times] as unknown as ConstructorParameters<typeof FormulaFirings>),
  );
  return { firings, sizes, ended, failed, given, go: held.resolve };
}

const firing = (pk: number, formula = 'good'): FiringRow =>
  ({ pk, stream_id: 1, scoped_name: `o${pk}`, definition: { formula }, rig: '', vars: {} }) as unknown as FiringRow;

/** Nobody waits for a pause. */
const signal = AbortSignal.abort();

describe('launches of orders', () => {
  it('that are ready during a transaction of their city share the next one', async () => {
    const { firings, sizes, ended, go } = city();
    const all = [1, 2, 3, 4].map((pk) => firings.carryOut(firing(pk), 'worker', signal));
    // All of them are prepared by then: nothing of that waits for anything.
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect({ sizes, ended }).toEqual({ sizes: [1, 3], ended: ['1', '2', '3', '4'] });
    await firings.carryOut(firing(5), 'worker', signal);
    expect(sizes).toEqual([1, 3, 1]);
  });

  it('that are long together take several', async () => {
    const { firings, sizes, go } = city();
    const all = [firing(1), ...[2, 3, 4, 5, 6].map((pk) => firing(pk, 'long'))].map((one) => firings.carryOut(one, 'worker', signal));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect(sizes).toEqual([1, 2, 2, 1]);
  });

  // Guard: leases are renewed in this order, too.
  it('that share a transaction end in the order of their keys', async () => {
    const { firings, ended, go } = city();
    const all = [4, 3, 1, 2].map((pk) => firings.carryOut(firing(pk), 'worker', signal));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect(ended).toEqual(['4', '1', '2', '3']);
  });

  // Guard: what cannot be launched takes nobody with it.
  it('fail alone', async () => {
    const { firings, ended, failed, go } = city();
    const all = [firing(1), firing(2), firing(3, 'bad'), firing(4)].map((one) => firings.carryOut(one, 'worker', signal));
    await new Promise((resolve) => setImmediate(resolve));
    go();
    await Promise.all(all);
    expect({ ended, failed }).toEqual({ ended: ['1', '2', '4'], failed: [expect.stringMatching(/^3: .*nobody to go to/)] });
  });

  // Guard: what passes ends no firing, or what has fired it would be used up for nothing.
  it('are given back while they have no turn', async () => {
    const { firings, ended, failed, given } = city();
    await firings.carryOut(firing(1, 'crowded'), 'worker', signal);
    expect({ ended, failed, given }).toEqual({ ended: [], failed: [], given: [1] });
  });
});
