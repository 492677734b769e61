import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { onFrame } from './frame.js';

describe('a frame of the page', () => {
  const reported: unknown[] = [];
  beforeEach(() => {
    reported.length = 0;
    Object.assign(globalThis, {
      document: { hidden: false, addEventListener: () => undefined },
      requestAnimationFrame: (run: () => void) => setImmediate(run),
      reportError: (error: unknown) => reported.push(error),
    });
  });
  afterEach(() => {
    for (const name of ['document', 'requestAnimationFrame', 'reportError']) delete (globalThis as Record<string, unknown>)[name];
  });

  it('keeps what breaks in one store from the others', async () => {
    const error = new Error('broken');
    let ran = false;
    onFrame(() => {
      throw error;
    });
    onFrame(() => void (ran = true));
    await new Promise(setImmediate);
    expect(ran).toBe(true);
    expect(reported).toEqual([error]);
  });
});
