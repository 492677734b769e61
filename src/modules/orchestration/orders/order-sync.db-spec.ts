import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { OrderFixture } from './testing/order-fixture.js';

let orders: OrderFixture;
afterEach(async () => {
  jest.restoreAllMocks();
  await orders.close();
});

const TICK = { tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' };

describe('an order whose file goes', () => {
  const goes = async (): Promise<void> => {
    await rm(orders.fixture.at('orders/tick.toml'));
    await orders.write({ other: 'exec = "true"\ntrigger = "manual"' });
  };
  const row = async (): Promise<unknown> =>
    (
      await orders.fixture.sql(
        `select present, gone_at > now() - interval '1 hour' as gone, last_started_at is not null as started from orders where scoped_name = 'tick'`,
      )
    )[0];

  it('is gone from then on, and is the same one when it comes back', async () => {
    orders = await OrderFixture.open(TICK);
    await orders.a.evaluator.look();
    expect(await row()).toEqual({ present: true, gone: null, started: true });
    await goes();
    expect(await row()).toEqual({ present: false, gone: true, started: true });
    await orders.write(TICK);
    expect(await row()).toEqual({ present: true, gone: null, started: true });
    expect(await orders.a.evaluator.look()).toBe(0);
  });

  // Guard: orders under names that nobody has any more would be read and locked with each revision.
  it('is not read with those that there are', async () => {
    orders = await OrderFixture.open(TICK);
    await goes();
    const { syncing, transactions } = orders.a;
    const read = jest.spyOn(syncing, 'orders');
    await orders.write({ another: 'exec = "true"\ntrigger = "manual"' });
    const rows = await (read.mock.results[0]!.value as ReturnType<typeof syncing.orders>);
    expect(rows.map(({ scoped_name: name }) => name)).toEqual(['other']);
    const back = await transactions.run((tx) => syncing.orders(tx, orders.city.streamId, ['tick']));
    expect(back.map(({ scoped_name: name }) => name)).toEqual(['another', 'other', 'tick']);
  });
});
