import { describe, expect, it } from '@jest/globals';
import { Keeper } from './keeper.js';

/** Time that moves when it is told to. */
function surroundings(): { wait: (ms: number, then: () => void) => () => void; now: () => number; pass: (ms: number) => Promise<void> } {
  let now = 0;
  let due: { at: number; then: () => void }[] = [];
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  return {
    now: () => now,
    wait: (ms, then) => {
      const one = { at: now + ms, then };
      due.push(one);
      return () => void (due = due.filter((other) => other !== one));
    },
    pass: async (ms) => {
      const until = now + ms;
      for (;;) {
        await settle();
        const [next] = due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        due = due.filter((one) => one !== next);
        now = Math.max(now, next.at);
        next.then();
      }
      now = until;
      await settle();
    },
  };
}

function source(): { read: () => Promise<number>; answer: (value: number | Error) => void; count: () => number; open: () => number } {
  const waiting: ((value: number | Error) => void)[] = [];
  let count = 0;
  return {
    read: () => {
      count++;
      return new Promise((resolve, reject) => waiting.push((value) => (value instanceof Error ? reject(value) : resolve(value))));
    },
    answer: (value) => waiting.shift()!(value),
    count: () => count,
    open: () => waiting.length,
  };
}

describe('Keeper', () => {
  it('reads once for a burst of events, and once more for those that come while it reads', async () => {
    const around = surroundings();
    const { read, answer, count, open } = source();
    const keeper = new Keeper(read, around);
    for (let i = 0; i < 50; i++) keeper.touch();
    await around.pass(200);
    expect(count()).toBe(1);
    for (let i = 0; i < 50; i++) keeper.touch();
    await around.pass(5_000);
    expect({ count: count(), open: open() }).toEqual({ count: 1, open: 1 });
    answer(1);
    await around.pass(5_000);
    expect({ count: count(), data: keeper.snapshot().data }).toEqual({ count: 2, data: 1 });
    answer(2);
    await around.pass(5_000);
    expect({ count: count(), data: keeper.snapshot().data, reading: keeper.snapshot().reading }).toEqual({
      count: 2,
      data: 2,
      reading: false,
    });
  });

  it('leaves the service its peace between two reads', async () => {
    const around = surroundings();
    let count = 0;
    const keeper = new Keeper(() => Promise.resolve(++count), around);
    for (let i = 0; i < 100; i++) {
      keeper.touch();
      await around.pass(20);
    }
    expect(count).toBeGreaterThan(2);
    expect(count).toBeLessThanOrEqual(5);
  });

  it('keeps what it has when a read fails, and says why', async () => {
    const around = surroundings();
    const { read, answer } = source();
    const keeper = new Keeper(read, around);
    keeper.read();
    await around.pass(0);
    answer(7);
    await around.pass(0);
    keeper.read();
    await around.pass(0);
    answer(new Error('no'));
    await around.pass(0);
    expect(keeper.snapshot()).toMatchObject({ data: 7, error: new Error('no'), reading: false });
  });

  it('takes no answer after it was stopped, and reads again when somebody comes back', async () => {
    const around = surroundings();
    const { read, answer, count } = source();
    const keeper = new Keeper(read, around);
    keeper.read();
    await around.pass(0);
    keeper.stop();
    answer(1);
    await around.pass(1_000);
    expect(keeper.snapshot()).toMatchObject({ data: undefined, reading: false });
    keeper.read();
    await around.pass(0);
    answer(2);
    await around.pass(0);
    expect({ data: keeper.snapshot().data, count: count() }).toEqual({ data: 2, count: 2 });
  });
});
