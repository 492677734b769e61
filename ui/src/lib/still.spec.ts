import { describe, expect, it } from '@jest/globals';
import { movedBy } from './still.js';

const was = Array.from({ length: 30 }, (_, i) => `b${i}`);

describe('what is in sight of a list', () => {
  it('has moved by what has come above it, and what has gone from there', () => {
    expect(movedBy(was, ['n1', 'n2', ...was], 10, 8)).toBe(2);
    expect(movedBy(was, was.slice(3), 10, 8)).toBe(-3);
    expect(movedBy(was, [...was.slice(0, 20), 'n1', ...was.slice(20)], 10, 8)).toBe(0);
  });

  it('is not led away by one of it that goes elsewhere, or ends', () => {
    const [moved, ended] = [was[10]!, was[12]!];
    expect(movedBy(was, [moved, ...was.filter((id) => id !== moved)], 10, 8)).toBe(0);
    expect(movedBy(was, ['n1', ...was.filter((id) => id !== ended)], 13, 8)).toBe(0);
  });

  it('is not held where it has another order', () => {
    expect(movedBy(was, [...was].reverse(), 10, 8)).toBe(0);
    expect(movedBy(was, ['x', 'y'], 10, 8)).toBe(0);
  });
});
