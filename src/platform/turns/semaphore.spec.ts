import { describe, expect, it } from '@jest/globals';
import { Semaphore } from './semaphore.js';

describe('Semaphore', () => {
  it('lets at most the limit in, in the order of arrival', async () => {
    const places = new Semaphore(2);
    const entered: number[] = [];
    const visits = [1, 2, 3, 4].map(async (n) => {
      const leave = await places.enter();
      entered.push(n);
      return leave;
    });
    const [first, second] = [await visits[0]!, await visits[1]!];
    expect([entered, places.free]).toEqual([[1, 2], 0]);
    second();
    (await visits[2]!)();
    (await visits[3]!)();
    first();
    expect(entered).toEqual([1, 2, 3, 4]);
    expect(places.free).toBe(2);
  });

  it('counts places taken beyond the limit, and hands none over until it is back within it', async () => {
    const places = new Semaphore(1);
    const [a, b] = [places.take(), places.take()];
    let entered = false;
    const waiting = places.enter().then((leave) => ((entered = true), leave));
    a();
    await Promise.resolve();
    expect(entered).toBe(false);
    b();
    (await waiting)();
    expect(places.free).toBe(1);
  });

  it('is idle once every place is given back', async () => {
    const places = new Semaphore(2);
    await places.idle();
    const leave = places.take();
    let idle = false;
    const waiting = places.idle().then(() => (idle = true));
    await Promise.resolve();
    expect(idle).toBe(false);
    leave();
    await waiting;
  });
});
