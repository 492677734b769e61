import { describe, expect, it } from '@jest/globals';
import { Slots } from './slots.js';

describe('Slots', () => {
  it('lets at most the limit in, in the order of arrival', async () => {
    const slots = new Slots(2);
    const entered: number[] = [];
    const visits = [1, 2, 3, 4].map(async (n) => {
      const leave = await slots.enter();
      entered.push(n);
      return leave;
    });
    const [first, second] = [await visits[0]!, await visits[1]!];
    expect([entered, slots.free]).toEqual([[1, 2], 0]);
    second();
    (await visits[2]!)();
    (await visits[3]!)();
    first();
    expect(entered).toEqual([1, 2, 3, 4]);
    expect(slots.free).toBe(2);
  });

  it('counts places taken beyond the limit, and hands none over until it is back within it', async () => {
    const slots = new Slots(1);
    const [a, b] = [slots.take(), slots.take()];
    let entered = false;
    const waiting = slots.enter().then((leave) => ((entered = true), leave));
    a();
    await Promise.resolve();
    expect(entered).toBe(false);
    b();
    (await waiting)();
    expect(slots.free).toBe(1);
  });

  it('is idle once every place is given back', async () => {
    const slots = new Slots(2);
    await slots.idle();
    const leave = slots.take();
    let idle = false;
    const waiting = slots.idle().then(() => (idle = true));
    await Promise.resolve();
    expect(idle).toBe(false);
    leave();
    await waiting;
  });
});
