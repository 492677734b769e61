import { describe, expect, it } from '@jest/globals';
import { Growth, type Grown } from './growth.js';

/** What the turn has shown in all, after each window. */
function follow(before: string, ...windows: string[]): { text: string; last: Grown } {
  const growth = new Growth(lines(before));
  const settled: string[] = [];
  let last: Grown = { settled: [], open: [] };
  for (const window of windows) {
    last = growth.look(lines(window));
    settled.push(...last.settled);
  }
  return { text: [...settled, ...last.open].join(' '), last };
}
const lines = (text: string): string[] => (text === '' ? [] : text.split(' '));

describe('growth of a window', () => {
  it('is what came below', () => {
    expect(follow('a b', 'a b c', 'a b c d').text).toBe('c d');
    expect(follow('', 'a', 'a b').text).toBe('a b');
    expect(follow('a b', 'a b').text).toBe('');
  });

  it('goes on when lines leave over the top', () => {
    expect(follow('a b c d', 'b c d e', 'c d e f', 'e f g h').text).toBe('e f g h');
    expect(follow('a b c d', 'b c d e', 'd e f g', 'g h i j', 'j k l m').text).toBe('e f g h i j k l m');
  });

  it('settles what has left and only that', () => {
    const { last } = follow('a b', 'a b c d', 'd e f g');
    expect(last).toEqual({ settled: ['c'], open: ['d', 'e', 'f', 'g'] });
  });

  it('takes the newest of what is painted again', () => {
    expect(follow('a in', 'a x1 in', 'a x2 in', 'a x3 y in').text).toBe('x3 y in');
    expect(follow('a b c in', 'b c x1 in', 'b c x2 in', 'c x2 y in').text).toBe('x2 y in');
  });

  it('loses nothing when nothing agrees', () => {
    expect(follow('a b', 'a b c d', 'p q r s').text).toBe('c d p q r s');
  });

  it('believes whoever knows what has left', () => {
    const growth = new Growth(['x', 'x']);
    expect(growth.look(['x', 'x'], ['x', 'x', 'x'])).toEqual({ settled: ['x'], open: ['x', 'x'] });
    expect(growth.look(['x', 'y'], ['x'])).toEqual({ settled: ['x'], open: ['x', 'y'] });
  });
});
