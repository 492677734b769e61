import { expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { PacedStarts } from './paced-starts.js';

it('begins four in a turn of the event loop', async () => {
  const starts = new PacedStarts();
  const begun: number[] = [];
  for (let n = 0; n < 6; n++) starts.add(() => begun.push(n));
  expect(begun).toEqual([]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});

it('begins what takes long one after the other, an owner at a time, and what does not in between', async () => {
  const starts = new PacedStarts();
  const begun: string[] = [];
  await new Promise<void>((resolve) => {
    const long = (owner: string, name: string): void =>
      starts.addLong(owner, () => {
        begun.push(name);
        if (name === 'a3') resolve();
        else starts.add(() => begun.push(`after ${name}`));
      });
    for (const name of ['a1', 'a2', 'a3']) long('a', name);
    long('b', 'b1');
    starts.add(() => begun.push('short'));
  });
  expect(begun).toEqual(['short', 'a1', 'after a1', 'b1', 'after b1', 'a2', 'after a2', 'a3']);
});
