import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { Signals } from '../../../platform/streams/signals.js';
import { LeasedWork, LeaseTimings, type Held } from './leased-work.js';

interface Row {
  readonly pk: number;
}

const ROW: Row = { pk: 7 };
const log = new AppLogger(createLogger('silent'));
let leased: LeasedWork<Row>;
let lifecycle: Lifecycle;
/** Under each lease in turn: what it was begun with, and how a test ends it. */
let begun: { readonly held: Held<Row>; readonly end: () => void }[];
/** How often the work waits to be taken. */
let waiting: number;
/** Answers a claim. */
let claim: () => Promise<readonly Row[]>;
/** Answers a renewal. */
let renew: (pks: readonly number[]) => Promise<ReadonlySet<number>>;

beforeEach(() => {
  begun = [];
  waiting = 2;
  claim = () => Promise.resolve(waiting-- > 0 ? [ROW] : []);
  renew = (pks) => Promise.resolve(new Set(pks));
  lifecycle = new Lifecycle(log);
  const source = {
    ...{ name: 'work', topic: 'work', due: sql<boolean>`true` },
    claim: () => claim(),
    renew: (pks: readonly number[]) => renew(pks),
    carryOut: (held: Held<Row>) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      begun.push({ held, end: resolve });
      return promise;
    },
  };
  leased = new LeasedWork(source, new LeaseTimings({ renewMs: 5 }), log);
});
afterEach(async () => {
  begun.forEach(({ end }) => end());
  await lifecycle.stop();
});

const begins = (n: number): Promise<unknown> => eventually(() => Promise.resolve(begun.length >= n));
/** Leases are renewed from now on, and nothing is taken. */
const renews = (): void => {
  const signals = { onTopics: () => () => undefined } as unknown as Signals;
  leased.begin(signals, { watch: () => undefined } as unknown as DuePoller, lifecycle);
};
/** The same work again, as after an outage in which its lease ran out. */
const takeTwice = async (): Promise<void> => {
  await leased.take();
  await begins(1);
  await leased.take();
};

describe('work that a process has lost and taken again', () => {
  // Guard: it is begun when it has ended under the lease before.
  it('is ended under the old lease before it is begun under the new one', async () => {
    await takeTwice();
    await new Promise(setImmediate);
    expect(begun.map(({ held }) => [held.lost, held.signal.aborted])).toEqual([[true, true]]);
    begun[0]!.end();
    await begins(2);
    expect(begun[1]!.held).toMatchObject({ row: ROW, lost: false });
  });

  // Guard: the end of the old one leaves the new one where it is renewed and stopped.
  it('stays in hand when it has ended under the old lease', async () => {
    await takeTwice();
    begun[0]!.end();
    await begins(2);
    await new Promise(setImmediate);
    expect(leased.running).toBe(1);
    const stopped = leased.stop();
    expect(begun[1]!.held).toMatchObject({ lost: false, signal: { aborted: true } });
    begun[1]!.end();
    await stopped;
    expect(leased.running).toBe(0);
  });

  // Guard: what a renewal did not ask about it says nothing of.
  it('is not lost by the answer to a renewal of the old lease', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<ReadonlySet<number>>();
    renew = () => (asked.resolve(), answer.promise);
    await leased.take();
    await begins(1);
    renews();
    await asked.promise;
    await leased.take();
    renew = (pks) => Promise.resolve(new Set(pks));
    answer.resolve(new Set());
    begun[0]!.end();
    await eventually(() => Promise.resolve(begun.length === 2 || leased.running === 0));
    expect(begun.map(({ held }) => held.lost)).toEqual([true, false]);
  });

  // Guard: what comes of a lost lease is told no more.
  it('is told nothing of what came of it under the old lease', async () => {
    await leased.take();
    await begins(1);
    let writes = 0;
    const told = leased.persist(begun[0]!.held, () => Promise.reject(new Error(`the database is away: ${++writes}`)));
    await leased.take();
    await told;
    expect(writes).toBe(1);
  });
});

describe('a claim whose answer comes late', () => {
  const clock = performance.now.bind(performance);
  let passed: number;
  beforeEach(() => {
    passed = 0;
    performance.now = () => clock() + passed;
    renew = () => new Promise(() => undefined);
  });
  afterEach(() => {
    performance.now = clock;
  });

  // Guard: the lease runs from its claim on, and would be another's by then.
  it('holds from when it was sent', async () => {
    claim = () => Promise.resolve([{ pk: 8 }]);
    await leased.take();
    claim = () => ((passed += 3_000), Promise.resolve([ROW]));
    await leased.take();
    await begins(2);
    passed += 5_500;
    renews();
    await eventually(() => Promise.resolve(begun[0]!.held.signal.aborted));
    expect(begun[1]!.held).toMatchObject({ row: ROW, lost: true, signal: { aborted: true } });
  });

  it('begins nothing once it holds no more', async () => {
    claim = () => ((passed += 8_500), Promise.resolve([ROW]));
    expect(await leased.take()).toBe(1);
    expect([leased.running, begun.length]).toEqual([0, 0]);
  });
});
