import { describe, expect, it } from '@jest/globals';
import { bytes, csv, dollars, short } from './units.js';

describe('numbers and files', () => {
  it('are short where the exact number stands beside', () => {
    expect([0, 0.25, 7, 999, 1_500, 13_637, 2_500_000, 7e9].map(short)).toEqual(['0', '0.25', '7', '999', '1.5k', '14k', '2.5M', '7.0G']);
    expect([0, 900, 1_536, 5 * 1024 ** 3].map(bytes)).toEqual(['0 B', '900 B', '1.5 KB', '5.0 GB']);
    expect([0, 0.0123, 12].map(dollars)).toEqual(['$0.00', '$0.0123', '$12.00']);
  });

  it('hold nothing that a spreadsheet would carry out', () => {
    expect(
      csv([
        ['=1+1', '+a', '-b', '@c', '\td', 'plain', -1],
        ['a,b', 'say "no"', 'two\nlines'],
      ]),
    ).toBe('\'=1+1,\'+a,\'-b,\'@c,\'\td,plain,-1\r\n"a,b","say ""no""","two\nlines"');
  });
});
