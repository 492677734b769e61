import { describe, expect, it } from '@jest/globals';
import { NoTurn, Turns } from './turns.js';

/** Owners in the order in which they get a place; `done` gives the oldest place back. */
class Line {
  readonly order: string[] = [];
  readonly #held: (() => void)[] = [];

  constructor(private readonly turns: Turns) {}

  ask(...owners: string[]): void {
    for (const owner of owners)
      void this.turns.take(owner).then((giveBack) => {
        this.order.push(owner);
        this.#held.push(giveBack);
      });
  }

  async done(): Promise<void> {
    await settled();
    this.#held.shift()!();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('go round, whoever asked for much first', async () => {
    const line = new Line(new Turns(1, 10, 60_000));
    line.ask('a', 'a', 'a', 'a', 'b', 'c', 'b');
    for (let n = 0; n < 7; n++) await line.done();
    expect(line.order.join('')).toBe('aabcaba');
  });

  it('leave a place for others: nobody has two', async () => {
    const line = new Line(new Turns(2, 10, 60_000));
    line.ask('a', 'a', 'a');
    await settled();
    expect(line.order).toEqual(['a']);
    line.ask('b');
    await settled();
    expect(line.order).toEqual(['a', 'b']);
    await line.done();
    expect(line.order).toEqual(['a', 'b', 'a']);
    // Who still waits when a test ends is refused during another one.
    for (let n = 0; n < 3; n++) await line.done();
    expect(line.order).toHaveLength(4);
  });

  it('are not waited for by too many, nor without end', async () => {
    const turns = new Turns(1, 1, 1);
    const giveBack = await turns.take('a');
    const late = turns.take('a').catch((error: unknown) => error);
    await expect(turns.take('a')).rejects.toThrow('too much of it waits already');
    expect(await late).toBeInstanceOf(NoTurn);
    giveBack();
    (await turns.take('a'))();
  });
});
