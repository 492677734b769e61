import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { OrderFixture } from './testing/order-fixture.js';

let orders: OrderFixture;
afterEach(async () => {
  jest.restoreAllMocks();
  await orders.close();
});

const EACH = 'exec = "true"\ntrigger = "event"\non = "bead.closed"';

/** So many events that orders may wait for, one a transaction. */
async function closed(count: number): Promise<void> {
  const said = { stream: 'alpha', type: 'bead.closed', version: 1, actor: 'x', subject: 'al-1', payload: {} };
  for (let n = 0; n < count; n++)
    await orders.a.transactions.run(async (tx) => {
      await sql`select * from append_events(${JSON.stringify([said])}::jsonb)`.execute(tx);
    });
}

describe('a turn of a worker', () => {
  // Guard: files are followed by the same worker, between turns.
  it('ends although something is due again all the time', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a } = orders;
    await sql`update cities set suspended = true`.execute(a.db);
    // With each look a minute goes by: what is put off for fifteen seconds is due again.
    const begun = Date.now();
    let asked = 0;
    jest.spyOn(a.times, 'now').mockImplementation(() => Promise.resolve(new Date(begun + Math.min(asked++, 50) * 60_000)));
    jest.spyOn(performance, 'now').mockImplementation(() => asked * 60_000);
    expect(await a.evaluator.look()).toBe(0);
    expect(asked).toBeLessThan(10);
    expect(a.evaluator.isBehind).toBe(true);
  });

  it('does not write what stands still for long each time', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a } = orders;
    await sql`update cities set suspended = true`.execute(a.db);
    const now = new Date(Date.now() + 3_600_000);
    orders.now = now;
    expect(await a.evaluator.look()).toBe(0);
    expect(await a.nextLook()).toEqual(new Date(now.getTime() + 120_000));
  });

  it('looks through the log of a city once, though that moves on', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a } = orders;
    await a.evaluator.look();
    await closed(3);
    const wake = a.syncing.wake.bind(a.syncing);
    const woken = jest.spyOn(a.syncing, 'wake').mockImplementation((tx, streamId, now) => wake(tx, streamId, now, 1));
    await a.evaluator.look();
    expect([woken.mock.calls.length, a.evaluator.isBehind]).toEqual([1, true]);
    for (let n = 0; a.evaluator.isBehind && n < 10; n++) await a.evaluator.look();
    expect(await a.syncing.moved(0, 10)).toEqual([]);
  });

  /** Whatever is done takes a second. */
  const slow = (): void => {
    let time = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (time += 1_000));
  };

  it('begins no other city when its time is over, or it is to end', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a } = orders;
    jest.spyOn(a.repository, 'dueCities').mockResolvedValue([1_000_001, 1_000_002]);
    const looked = jest.spyOn(a.repository, 'city');
    slow();
    await a.evaluator.look();
    expect([looked.mock.calls, a.evaluator.isBehind]).toEqual([[[1_000_001]], true]);
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const ending = new AbortController();
    looked.mockImplementation(() => Promise.resolve(void ending.abort()));
    await a.evaluator.look(ending.signal);
    expect(looked).toHaveBeenCalledTimes(2);
  });

  it('wakes no other city when its time is over, and the next one goes on behind it', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a } = orders;
    const moved = jest.spyOn(a.syncing, 'moved').mockResolvedValueOnce([1_000_001, 1_000_002]).mockResolvedValueOnce([1_000_002]);
    const woken = jest.spyOn(a.syncing, 'wake');
    slow();
    for (const behind of [true, false]) {
      await a.evaluator.look();
      expect(a.evaluator.isBehind).toBe(behind);
    }
    await a.evaluator.look();
    expect(moved.mock.calls.map(([after]) => after)).toEqual([0, 1_000_001, 0]);
    expect(woken.mock.calls.map(([, streamId]) => streamId)).toEqual([1_000_001, 1_000_002]);
  });

  // Guard: the same would be the first in each turn.
  it('has its time for those that can be looked at', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a } = orders;
    let time = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => time);
    const { streamId } = orders.city;
    const fails = (): Promise<never> => Promise.reject(new Error(`held for ${(time += 2_000)} ms`));
    jest.spyOn(a.syncing, 'moved').mockResolvedValueOnce([1_000_001]);
    jest.spyOn(a.syncing, 'wake').mockImplementationOnce(fails);
    jest.spyOn(a.repository, 'dueCities').mockResolvedValueOnce([1_000_001, streamId]);
    jest.spyOn(a.repository, 'city').mockImplementationOnce(fails);
    expect([await a.evaluator.look(), a.evaluator.isBehind]).toEqual([1, false]);
  });

  it('is behind nothing when all has been looked at', async () => {
    orders = await OrderFixture.open({ each: EACH, tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    await closed(1);
    jest.spyOn(performance, 'now').mockReturnValue(0);
    expect(await orders.a.evaluator.look()).toBe(2);
    expect(orders.a.evaluator.isBehind).toBe(false);
  });
});

describe('cities whose logs have moved', () => {
  it('are woken behind those of the turn before', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a } = orders;
    const moved = jest.spyOn(a.syncing, 'moved');
    jest.spyOn(performance, 'now').mockReturnValue(0);
    // More than a turn has, which nobody can wake.
    moved.mockResolvedValueOnce(Array.from({ length: 200 }, (_, n) => 1_000_000 + n));
    await a.evaluator.look();
    expect(a.evaluator.isBehind).toBe(true);
    await a.evaluator.look();
    await a.evaluator.look();
    expect(moved.mock.calls.map(([after]) => after)).toEqual([0, 1_000_199, 0]);
    expect(a.evaluator.isBehind).toBe(false);
  });

  it('are read in the order of their streams', async () => {
    orders = await OrderFixture.open({ each: EACH });
    await closed(1);
    const { streamId } = orders.city;
    expect([await orders.a.syncing.moved(streamId - 1, 10), await orders.a.syncing.moved(streamId, 10)]).toEqual([[streamId], []]);
  });
});
