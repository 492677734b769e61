import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { atTurnEnd, beginAsking, endAsking, nextTurn, restTurn } from './turn-end.js';

describe('the end of a turn of the event loop', () => {
  it('does what is due, in its order, and what that adds at the end of the next one', async () => {
    const done: string[] = [];
    atTurnEnd(() => {
      done.push('first');
      atTurnEnd(() => done.push('third'));
    });
    atTurnEnd(() => done.push('second'));
    expect(done).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(['first', 'second']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(['first', 'second', 'third']);
  });

  // Guard: whoever works on and on is not before what others have been answered.
  it('comes before whoever works on in the next', async () => {
    const done: string[] = [];
    const working = nextTurn().then(() => done.push('worked on'));
    atTurnEnd(() => done.push('answered'));
    await working;
    expect(done).toEqual(['answered', 'worked on']);
  });

  it('belongs to none of those that wait for it', async () => {
    const callers = new AsyncLocalStorage<string>();
    const seen = new Promise((resolve) => callers.run('a caller', () => atTurnEnd(() => resolve(callers.getStore()))));
    expect(await seen).toBeUndefined();
  });

  describe('for whoever works without end', () => {
    const turns = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
    };
    const rested = (): { readonly over: boolean } => {
      const state = { over: false };
      void restTurn().then(() => (state.over = true));
      return state;
    };
    // Each test is later than all before it.
    let later = 0;
    beforeEach(async () => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
      await jest.advanceTimersByTimeAsync((later += 60_000));
    });
    afterEach(() => void jest.useRealTimers());

    it('is the next one while nobody waits for the database', async () => {
      const rest = rested();
      await turns(2);
      expect(rest.over).toBe(true);
    });

    it('comes when one of those who wait for the database has got its rows', async () => {
      beginAsking();
      beginAsking();
      const [rest, other] = [rested(), rested()];
      await turns(5);
      expect([rest.over, other.over]).toEqual([false, false]);
      endAsking();
      await turns(2);
      expect([rest.over, other.over]).toEqual([true, true]);
      expect(jest.getTimerCount()).toBe(0);
      endAsking();
    });

    it('comes after a millisecond all the same, and at once for who waits on for a lock', async () => {
      beginAsking();
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
      beginAsking();
      const other = rested();
      await turns(5);
      expect(other.over).toBe(false);
      endAsking();
      endAsking();
    });

    it('comes at once to who has not worked as long as it has rested', async () => {
      beginAsking();
      void restTurn();
      await jest.advanceTimersByTimeAsync(1);
      beginAsking();
      const early = rested();
      await turns(2);
      expect(early.over).toBe(true);
      await jest.advanceTimersByTimeAsync(1);
      const late = rested();
      await turns(5);
      expect(late.over).toBe(false);
      endAsking();
      endAsking();
    });
  });
});
