import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseWaits } from './database-waits.js';

describe('a pause of work without end', () => {
  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const paused = (): { readonly over: boolean } => {
    const state = { over: false };
    void waits.yieldTurn().then(() => (state.over = true));
    return state;
  };
  let waits: DatabaseWaits;
  beforeEach(() => {
    waits = new DatabaseWaits();
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  });
  afterEach(() => void jest.useRealTimers());

  it('ends with this turn while nothing waits for the database', async () => {
    const pause = paused();
    await turns(2);
    expect(pause.over).toBe(true);
  });

  it('ends as soon as one of the waiting requests has its rows', async () => {
    waits.begin();
    waits.begin();
    const [pause, other] = [paused(), paused()];
    await turns(5);
    expect([pause.over, other.over]).toEqual([false, false]);
    waits.end();
    await turns(2);
    expect([pause.over, other.over]).toEqual([true, true]);
    expect(jest.getTimerCount()).toBe(0);
    waits.end();
  });

  it('ends after a millisecond, and is not repeated for a request that goes on waiting', async () => {
    waits.begin();
    const pause = paused();
    await turns(5);
    expect(pause.over).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await turns(2);
    expect(pause.over).toBe(true);
    await jest.advanceTimersByTimeAsync(10);
    // Guard: no second pause for the same wait, until another begins.
    const again = paused();
    await turns(2);
    expect(again.over).toBe(true);
    waits.begin();
    const other = paused();
    await turns(5);
    expect(other.over).toBe(false);
    waits.end();
    waits.end();
  });

  it('is skipped until work has gone on for as long as the last pause', async () => {
    waits.begin();
    void waits.yieldTurn();
    await jest.advanceTimersByTimeAsync(1);
    waits.begin();
    const early = paused();
    await turns(2);
    expect(early.over).toBe(true);
    await jest.advanceTimersByTimeAsync(1);
    const late = paused();
    await turns(5);
    expect(late.over).toBe(false);
    waits.end();
    waits.end();
  });
});
