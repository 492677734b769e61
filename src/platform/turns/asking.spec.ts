import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Asking } from './asking.js';

describe('a rest of who works without end', () => {
  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const rested = (): { readonly over: boolean } => {
    const state = { over: false };
    void asking.restTurn().then(() => (state.over = true));
    return state;
  };
  let asking: Asking;
  beforeEach(() => {
    asking = new Asking();
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  });
  afterEach(() => void jest.useRealTimers());

  it('is over with this turn while nobody waits for the database', async () => {
    const rest = rested();
    await turns(2);
    expect(rest.over).toBe(true);
  });

  it('is over when one of those who wait for the database has got its rows', async () => {
    asking.begin();
    asking.begin();
    const [rest, other] = [rested(), rested()];
    await turns(5);
    expect([rest.over, other.over]).toEqual([false, false]);
    asking.end();
    await turns(2);
    expect([rest.over, other.over]).toEqual([true, true]);
    expect(jest.getTimerCount()).toBe(0);
    asking.end();
  });

  it('is over after a millisecond all the same, and at once for who waits on for a lock', async () => {
    asking.begin();
    const rest = rested();
    await turns(5);
    expect(rest.over).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await turns(2);
    expect(rest.over).toBe(true);
    await jest.advanceTimersByTimeAsync(10);
    // Guard: that is not rested for again, until somebody else asks.
    const again = rested();
    await turns(2);
    expect(again.over).toBe(true);
    asking.begin();
    const other = rested();
    await turns(5);
    expect(other.over).toBe(false);
    asking.end();
    asking.end();
  });

  it('is over at once for who has not worked as long as it has rested', async () => {
    asking.begin();
    void asking.restTurn();
    await jest.advanceTimersByTimeAsync(1);
    asking.begin();
    const early = rested();
    await turns(2);
    expect(early.over).toBe(true);
    await jest.advanceTimersByTimeAsync(1);
    const late = rested();
    await turns(5);
    expect(late.over).toBe(false);
    asking.end();
    asking.end();
  });
});
