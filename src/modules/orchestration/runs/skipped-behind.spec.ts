import { describe, expect, it } from '@jest/globals';
import type { LeftOut } from '../../work/work/bead-record.js';
import { skippedBehind } from './skipped-behind.js';

const skipped = (id: string, more: Partial<LeftOut>): LeftOut => ({
  ...{ id, ref: `f.${id}`, skipped: true, by: null, told: null, scope: null, begun: false, cleans: false, needs: [] },
  ...more,
});

describe('what was skipped for a step', () => {
  // Guard: how many these are is asked only after they are known.
  it('is known also where thousands wait for each other', () => {
    const left = Array.from({ length: 20_000 }, (_, n) => skipped(`${n}`, { needs: [n === 0 ? 'x' : `${n - 1}`], by: 'x' }));
    expect(skippedBehind({ id: 'x', ref: 'f.x' }, left.toReversed()).ids).toHaveLength(left.length);
  });

  it('has what cleans up behind a scope that has ended', () => {
    const scope = skipped('s', { skipped: false });
    const [n, t] = ['n', 't'].map((id) => skipped(id, { by: 'x', scope: 'f.s', cleans: id === 't' }));
    expect(skippedBehind({ id: 'x', ref: 'f.x' }, [scope, n!, t!])).toEqual({ ids: ['t'], begun: undefined });
  });

  it('is not done before its scope where it had begun', () => {
    const n = skipped('n', { scope: 'f.s', begun: true });
    expect(skippedBehind({ id: 's', ref: 'f.s' }, [n])).toEqual({ ids: ['n'], begun: 'n' });
  });
});
