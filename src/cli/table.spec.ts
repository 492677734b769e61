import { describe, expect, it } from '@jest/globals';
import { showDuration } from './duration.js';
import { facts, plain, table } from './table.js';

describe('table', () => {
  it('aligns columns, drops empty ones and leaves no blanks at the ends', () => {
    expect(
      table(
        ['NAME', 'ERROR', 'PATH'],
        [
          ['alpha', '', '/c/alpha'],
          ['b', '', '/c/b'],
        ],
      ),
    ).toBe('NAME   PATH\nalpha  /c/alpha\nb      /c/b\n');
  });

  it('lets no control character through', () => {
    expect(plain('a\u001b[31mred\u001b[0m\nb\u0007')).toBe('ared b ');
  });
});

describe('facts', () => {
  it('puts the values under each other and leaves out what is not known', () => {
    expect(
      facts([
        ['name', 'alpha'],
        ['error', undefined],
        ['up', '3m'],
      ]),
    ).toBe('name:  alpha\nup:    3m\n');
  });
});

describe('showDuration', () => {
  it.each([
    [0, '0ms'],
    [830, '830ms'],
    [4_200, '4.2s'],
    [59_940, '59.9s'],
    [59_960, '1m00s'],
    [185_000, '3m05s'],
    [3_599_600, '1h00m'],
    [7_800_000, '2h10m'],
    [273_600_000, '3d4h'],
  ])('shows %d ms as %s', (ms, text) => expect(showDuration(ms)).toBe(text));
});
