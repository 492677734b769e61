import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { atTurnEnd, nextTurn } from './turn-end.js';

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
});
