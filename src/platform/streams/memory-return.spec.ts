import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { HEAP } from '../../entry/memory-settings.js';
import { ManyHaveLeft } from './memory-return.js';

const IDLE = 0.01;
const BUSY = 0.5;

/** What each look says, for as many open streams as are given. */
const looks = (left: ManyHaveLeft, open: readonly number[], busy = IDLE): boolean[] => open.map((n) => left.look(n, busy));

describe('memory is given back', () => {
  it('once, at the second quiet look after many streams have left', () => {
    expect(looks(new ManyHaveLeft(), [0, 3_000, 3_000, 40, 40, 40, 0])).toEqual([false, false, false, false, true, false, false]);
  });

  it('again when as many have come and left again', () => {
    expect(looks(new ManyHaveLeft(), [800, 0, 0, 800, 0, 0])).toEqual([false, false, true, false, false, true]);
  });

  it('not after a few, nor while a good part of them is open, nor while others come', () => {
    expect(looks(new ManyHaveLeft(), [400, 0, 0, 0])).not.toContain(true);
    expect(looks(new ManyHaveLeft(), [3_000, 400, 400, 400])).not.toContain(true);
    expect(looks(new ManyHaveLeft(), [3_000, 0, 2_000, 0, 2_000])).not.toContain(true);
  });

  it('not while the process has something to do, but then', () => {
    const left = new ManyHaveLeft();
    expect(looks(left, [3_000, 0, 0, 0], BUSY)).not.toContain(true);
    expect(looks(left, [0, 0])).toEqual([false, true]);
  });

  it('by a process that was started with the settings of the service', () => {
    const says = execFileSync(process.execPath, [...HEAP, '-p', 'typeof globalThis.gc'], { encoding: 'utf8', env: {} });
    expect(says.trim()).toBe('function');
  });
});
