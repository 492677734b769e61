import { describe, expect, it } from '@jest/globals';
import { extend, NOTHING, toggle, within } from './selection.js';

const order = ['a', 'b', 'c', 'd', 'e'];
const ids = ({ ids: marked }: { ids: ReadonlySet<string> }): string => [...marked].sort().join('');

describe('a selection', () => {
  it('marks and unmarks one, and goes on from it in both directions', () => {
    const b = toggle(NOTHING, 'b');
    expect(ids(b)).toBe('b');
    expect(ids(toggle(b, 'b'))).toBe('');
    const bd = extend(b, order, 'd');
    expect(ids(bd)).toBe('bcd');
    expect(ids(extend(bd, order, 'a'))).toBe('abcd');
  });

  it('begins a range where nothing was marked, or where its beginning has left', () => {
    expect(ids(extend(NOTHING, order, 'c'))).toBe('c');
    expect(ids(extend({ ids: new Set(['a']), anchor: 'gone' }, order, 'c'))).toBe('ac');
    expect(ids(extend(toggle(NOTHING, 'a'), order, 'gone'))).toBe('a');
  });

  it('lets go of what is no longer on the list', () => {
    const some = extend(toggle(NOTHING, 'a'), order, 'c');
    expect(ids(within(some, ['b', 'c', 'd']))).toBe('bc');
    expect(within(some, order)).toBe(some);
  });
});
