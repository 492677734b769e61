import { describe, expect, it } from '@jest/globals';
import { atOnce } from './at-once.js';

/** Work that goes on until it is let go. */
class Slow {
  readonly begun: number[] = [];
  readonly #ends = new Map<number, (failure?: Error) => void>();

  readonly work = (n: number): Promise<void> => {
    this.begun.push(n);
    return new Promise((resolve, reject) => this.#ends.set(n, (failure) => (failure === undefined ? resolve() : reject(failure))));
  };

  async end(n: number, failure?: Error): Promise<void> {
    this.#ends.get(n)!(failure);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('work on several at once', () => {
  it('begins in order, no more at a time than it may', async () => {
    const slow = new Slow();
    const all = atOnce(2, [1, 2, 3], slow.work);
    expect(slow.begun).toEqual([1, 2]);
    await slow.end(2);
    expect(slow.begun).toEqual([1, 2, 3]);
    await slow.end(1);
    await slow.end(3);
    await all;
  });

  it('ends with all that was begun, and then with what has failed', async () => {
    const slow = new Slow();
    let over = false;
    const all = atOnce(2, [1, 2, 3], slow.work).finally(() => (over = true));
    const failed = expect(all).rejects.toThrow('broken');
    await slow.end(1, new Error('broken'));
    await slow.end(2);
    expect([slow.begun, over]).toEqual([[1, 2, 3], false]);
    await slow.end(3);
    await failed;
  });

  it('begins nothing more once it is to stop', async () => {
    const slow = new Slow();
    const stop = new AbortController();
    const all = atOnce(1, [1, 2], slow.work, stop.signal);
    stop.abort();
    await slow.end(1);
    await all;
    expect(slow.begun).toEqual([1]);
  });
});
