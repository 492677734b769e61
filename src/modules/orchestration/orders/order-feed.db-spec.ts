import { afterEach, expect, it } from '@jest/globals';
import { OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';
import { OrderFixture } from './testing/order-fixture.js';

let orders: OrderFixture;
afterEach(() => orders.close());

// Guard: what waits leaves what runs its place in a feed, which is cut.
it('tells of what runs before what waits, however few are asked for', async () => {
  const order = 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"';
  orders = await OrderFixture.open({ a: order, b: order, c: order, d: order, e: order });
  const { a, fixture, city } = orders;
  await a.evaluator.look();
  await fixture.sql(
    `update order_firings set state = 'running', started_at = now() where pk in (select pk from order_firings order by pk limit 2)`,
  );
  const firings = (await orders.firings()).map(({ id }) => id);
  const service = new OrdersService(fixture.a.reads, new OrdersRepository(a.db), a.times);
  const feed = async (limit: number): Promise<unknown[]> =>
    (await service.feed(city, { scope_kind: 'city', scope_ref: city.name, limit })).items!.map(({ bead_id: id }) => id);
  expect(await feed(2)).toEqual([firings[1], firings[0]]);
  expect(await feed(0)).toEqual([1, 0, 4, 3, 2].map((n) => firings[n]));
});

it('tells of what began before a time, to the microsecond, whatever its offset', async () => {
  orders = await OrderFixture.open({ a: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
  const { a, fixture, city } = orders;
  await a.evaluator.look();
  await fixture.sql(`update order_firings set created_at = '2026-01-01T00:00:00.000001Z'`);
  const service = new OrdersService(fixture.a.reads, new OrdersRepository(a.db), a.times);
  const listed = async (before: string): Promise<number> =>
    (await service.history(city, { scoped_name: 'a', limit: 10, before })).entries!.length;
  for (const [day, offset] of [
    ['2026-01-01T00', 'Z'],
    ['2026-01-01T20', '+20:00'],
    ['2025-12-31T01', '-23:00'],
  ] as const)
    expect([await listed(`${day}:00:00.000001${offset}`), await listed(`${day}:00:00.000002${offset}`)]).toEqual([0, 1]);
});
