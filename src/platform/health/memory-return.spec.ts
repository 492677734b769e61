import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AppLogger } from '../logging/logger.js';
import type { Lifecycle } from './lifecycle.js';
import { MemoryReturn, MuchWasTaken } from './memory-return.js';

const MB = 2 ** 20;
const IDLE = 0.01;
const BUSY = 0.5;

const MINUTE = 12;

/** What each look says, for as many MB as are given. */
const looks = (taken: MuchWasTaken, mbs: readonly number[], busy = IDLE): boolean[] => mbs.map((mb) => taken.look({ rss: mb * MB, busy }));
const minutes = (count: number, mb: number): number[] => Array.from({ length: count * MINUTE }, () => mb);

describe('memory that work has left behind', () => {
  it('is given back after a minute of rest, once in ten minutes', () => {
    const taken = new MuchWasTaken(300 * MB);
    expect(looks(taken, [200, 300, ...minutes(2, 400)], BUSY)).not.toContain(true);
    expect(looks(taken, minutes(1, 400)).indexOf(true)).toBe(MINUTE - 1);
    taken.collected(250 * MB);
    expect(looks(taken, [...minutes(2, 250), ...minutes(12, 320)]).indexOf(true)).toBe(10 * MINUTE - 1);
  });

  it('is not looked for while the process has something to do now and then, nor where it is little', () => {
    const taken = new MuchWasTaken(300 * MB);
    for (let n = 0; n < 4; n++) expect([...looks(taken, [200, 400], BUSY), ...looks(taken, minutes(1, 400).slice(1))]).not.toContain(true);
    expect(looks(new MuchWasTaken(300 * MB), [200, 230, ...minutes(2, 260)])).not.toContain(true);
  });

  it('counts from the least that the process came out with', () => {
    expect(looks(new MuchWasTaken(300 * MB), [400, 220, 220, ...minutes(1, 270), 290]).indexOf(true)).toBe(MINUTE + 3);
  });
});

describe('a process that looks after its memory', () => {
  const LOOK_MS = 5_000;
  const { gc } = globalThis;
  let collected: number;
  let collects: () => Promise<void>;
  let said: string[];
  let stop: () => void;

  beforeEach(() => {
    [collected, said] = [0, []];
    collects = () => Promise.resolve();
    globalThis.gc = (() => {
      collected++;
      return collects();
    }) as unknown as NonNullable<typeof gc>;
    jest.useFakeTimers();
    const tell = (_facts: unknown, text: string): unknown => said.push(text);
    const log = { info: tell, warn: tell } as unknown as AppLogger;
    const lifecycle = { onStop: (_phase: string, _name: string, step: () => void) => (stop = step) } as unknown as Lifecycle;
    const memory = new MemoryReturn(log, lifecycle);
    memory.also({ why: 'as asked', look: () => true });
    memory.onModuleInit();
  });
  afterEach(() => {
    stop();
    jest.useRealTimers();
    jest.restoreAllMocks();
    if (gc === undefined) delete globalThis.gc;
    else globalThis.gc = gc;
  });

  // Guard: a process that has no file descriptor left lives on without a look at its memory.
  it('lives on where it has no file descriptor to look with, and looks again', async () => {
    const none = jest.spyOn(process.memoryUsage, 'rss').mockImplementation(() => {
      throw Object.assign(new Error('uv_resident_set_memory'), { code: 'EMFILE' });
    });
    await jest.advanceTimersByTimeAsync(2 * LOOK_MS);
    expect([none.mock.calls.length, collected]).toEqual([2, 0]);
    none.mockRestore();
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect([collected, said]).toEqual([1, ['gave back memory as asked']]);
  });

  it('tells of a collection that fails, and begins the next one', async () => {
    collects = () => Promise.reject(new Error('no'));
    await jest.advanceTimersByTimeAsync(2 * LOOK_MS);
    expect([collected, said]).toEqual([2, ['could not give back memory as asked', 'could not give back memory as asked']]);
  });

  it('has given back what it could where it cannot look any more', async () => {
    const { rss } = process.memoryUsage;
    const looks = jest.spyOn(process.memoryUsage, 'rss').mockImplementationOnce(() => rss());
    looks.mockImplementation(() => {
      throw new Error('EMFILE');
    });
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect([collected, said]).toEqual([1, ['gave back memory as asked']]);
  });
});
