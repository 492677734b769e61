import { afterEach, describe, expect, it } from '@jest/globals';
import { OrderFixture } from './testing/order-fixture.js';

let orders: OrderFixture;
afterEach(() => orders.close());

describe('an order that somebody has run', () => {
  // Guard: a command that forces its own order twice would have twice as many each time.
  it('is forced a hundred times at once, and no more', async () => {
    orders = await OrderFixture.open({ again: 'exec = "true"\ntrigger = "manual"', other: 'exec = "true"\ntrigger = "manual"' });
    const { a } = orders;
    for (let n = 0; n < 100; n++) await orders.run('again', true);
    await expect(orders.run('again', true)).rejects.toThrow('order "again" has 100 firings open');
    await orders.run('other', true);
    const [first] = await a.take();
    await a.firings.end(orders.city, first!, 'worker', { outcome: 'success', exitCode: 0 });
    await orders.run('again', true);
    await expect(orders.run('again', true)).rejects.toThrow('100 firings open');
  });

  it('does not wait for a check that nobody has begun', async () => {
    orders = await OrderFixture.open({ look: 'exec = "true"\ntrigger = "condition"\ncheck = "true"' });
    const { a } = orders;
    await a.evaluator.look();
    expect(await orders.firings()).toMatchObject([{ state: 'checking' }]);
    const id = await orders.run('look');
    expect(await orders.firings()).toMatchObject([{ id, state: 'queued', cause: 'run' }]);
    await expect(orders.run('look')).rejects.toThrow(`is being carried out: ${id} is open`);
    // It is looked at again in its time.
    const [firing] = await a.take();
    await a.firings.end(orders.city, firing!, 'worker', { outcome: 'success', exitCode: 0 });
    expect(await a.evaluator.look()).toBe(0);
    orders.now = new Date(Date.now() + 60_000);
    expect(await a.evaluator.look()).toBe(1);
  });

  it('is told of a check that is under way, which nobody is shown', async () => {
    orders = await OrderFixture.open({ look: 'exec = "true"\ntrigger = "condition"\ncheck = "true"' });
    const { a } = orders;
    await a.evaluator.look();
    const [check] = await a.take();
    await expect(orders.run('look')).rejects.toThrow('the condition of order "look" is being checked: try again');
    await a.firings.refused(orders.city, check!, 'worker', 'no');
    await orders.run('look');
  });
});
