import { describe, expect, it } from '@jest/globals';
import { endedRunsOf, restsAfter, type EmptyFor, type EndedRun } from './empty-runs.js';

const NOW = 1_800_000_000_000;
/** The newest first, a second between them. */
const runs = (...given: [member: string, ...empty: EmptyFor[]][]): EndedRun[] =>
  given.map(([member, ...empty], n) => ({
    template: 'worker',
    member,
    empty: empty.length === 0 ? undefined : empty,
    at: NOW - n * 1_000,
  }));

describe('ended runs', () => {
  it('count for what they were empty for, and for nothing else', () => {
    const { emptyRuns, idleRuns } = endedRunsOf(
      runs(['worker-1', 'pool', 'minimum'], ['worker-1', 'minimum'], ['worker-2', 'member'], ['worker-1', 'pool', 'member']),
    );
    expect([...emptyRuns]).toEqual([
      ['worker', { count: 2, lastAt: NOW }],
      ['worker-2', { count: 1, lastAt: NOW - 2_000 }],
      ['worker-1', { count: 1, lastAt: NOW - 3_000 }],
    ]);
    expect([...idleRuns]).toMatchObject([['worker', { count: 2, lastAt: NOW }]]);
  });

  it('count up to the last that was not, of the pool or of the same member', () => {
    const { emptyRuns } = endedRunsOf(
      runs(['worker-1', 'pool', 'member'], ['worker-2'], ['worker-1', 'pool', 'member'], ['worker-1'], ['worker-1', 'member']),
    );
    expect([...emptyRuns]).toEqual([
      ['worker', { count: 1, lastAt: NOW }],
      ['worker-1', { count: 2, lastAt: NOW }],
    ]);
  });

  it('are idle once for all members that are started together, up to the last that was not', () => {
    const { idleRuns } = endedRunsOf(
      runs(
        ['worker-1', 'minimum'],
        ['worker-2', 'minimum'],
        ['worker-2', 'minimum'],
        ['worker-3', 'minimum'],
        ['worker-2'],
        ['worker-2', 'minimum'],
      ),
    );
    expect([...idleRuns]).toMatchObject([['worker', { count: 2, lastAt: NOW }]]);
  });

  it('count once for the only member of a pool, which has its name', () => {
    expect(endedRunsOf(runs(['worker', 'pool', 'member'])).emptyRuns.get('worker')).toEqual({ count: 1, lastAt: NOW });
  });

  it('say for how long nobody is started, and why', () => {
    const rests = restsAfter(endedRunsOf(runs(['worker-1', 'member', 'minimum'], ['worker-1', 'minimum'])), NOW + 30_000);
    expect([...rests].map(([name, { until, detail }]) => [name, Date.parse(until!) - NOW, detail])).toEqual([
      ['worker', 120_000, 'its last 2 runs had nothing to do'],
      ['worker-1', 60_000, 'its last run took none of the work that was there'],
    ]);
    expect(restsAfter(endedRunsOf(runs(['worker-1', 'member'])), NOW + 60_000).size).toBe(0);
    const [run] = runs(['worker-1', 'minimum']);
    const signIn = restsAfter(endedRunsOf([{ ...run!, ended: 'auth-required' }]), NOW + 30_000);
    expect(signIn.get('worker')?.detail).toBe('its last run had nothing to do; it was not signed in');
  });
});
