import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { readSteadily } from './steadily.js';

let output: PassThrough;
let taken: string[];
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  output = new PassThrough({ highWaterMark: 2 ** 21 });
  taken = [];
});
afterEach(() => {
  jest.useRealTimers();
});

/** Byte by byte, each in a turn of its own. */
async function write(bytes: number): Promise<void> {
  for (let n = 0; n < bytes; n++) {
    output.write('x');
    await turn();
  }
}

// Guard: each byte would wake the process that reads.
it('has what is written byte by byte gather, and loses nothing of it', async () => {
  readSteadily(output, (chunk) => taken.push(String(chunk)));
  await write(1_000);
  expect(taken.length).toBeLessThanOrEqual(16);
  output.end();
  for (let n = 0; n < 100; n++) {
    await jest.advanceTimersByTimeAsync(50);
    await turn();
  }
  expect(taken.join('')).toHaveLength(1_000);
});
