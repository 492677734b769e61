import { describe, expect, it } from '@jest/globals';
import { Budget, NoTurn, type Share } from './budget.js';

/** Owners in the order in which they get a share; `done` gives the oldest one back. */
class Line {
  readonly order: string[] = [];
  readonly held: Share[] = [];

  constructor(private readonly budget: Budget) {}

  ask(...owners: string[]): void {
    for (const owner of owners) this.askFor(owner, 1);
  }

  askFor(owner: string, amount: number): void {
    void this.budget.take(owner, amount).then((share) => {
      this.order.push(owner);
      this.held.push(share);
    });
  }

  async done(): Promise<void> {
    await settled();
    this.held.shift()!.giveBack();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a budget', () => {
  it('goes round, whoever asked for much first', async () => {
    const line = new Line(new Budget(1, 10, 60_000));
    line.ask('a', 'a', 'a', 'a', 'b', 'c', 'b');
    for (let n = 0; n < 7; n++) await line.done();
    expect(line.order.join('')).toBe('aabcaba');
  });

  it('leaves something for others: nobody has two shares', async () => {
    const line = new Line(new Budget(2, 10, 60_000));
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

  it('is given out up to its amount, and nobody is overtaken for wanting much', async () => {
    const line = new Line(new Budget(10, 10, 60_000));
    line.askFor('a', 6);
    line.askFor('b', 100);
    line.askFor('c', 1);
    await settled();
    expect(line.order).toEqual(['a']);
    await line.done();
    expect(line.order).toEqual(['a', 'b']);
    line.held[0]!.shrink(9);
    await settled();
    expect(line.order).toEqual(['a', 'b', 'c']);
    line.held[0]!.giveBack();
    line.askFor('d', 9);
    line.askFor('e', 1);
    await settled();
    expect(line.order).toEqual(['a', 'b', 'c', 'd']);
    line.held.shift();
    for (let n = 0; n < 3; n++) await line.done();
    expect(line.order).toHaveLength(5);
  });

  it('is given back once, whoever says so again', async () => {
    const budget = new Budget(2, 10, 60_000);
    const first = await budget.take('a');
    first.giveBack();
    const second = await budget.take('a');
    first.giveBack();
    let isThird = false;
    const third = budget.take('a').then((share) => {
      isThird = true;
      share.giveBack();
    });
    await settled();
    expect(isThird).toBe(false);
    second.giveBack();
    await third;
  });

  it('is not waited for by too many, nor without end', async () => {
    const budget = new Budget(1, 1, 1);
    const share = await budget.take('a');
    const late = budget.take('a').catch((error: unknown) => error);
    await expect(budget.take('a')).rejects.toThrow('too much of it waits already');
    expect(await late).toBeInstanceOf(NoTurn);
    share.giveBack();
    (await budget.take('a')).giveBack();
  });
});
