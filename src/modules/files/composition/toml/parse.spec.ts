import { describe, expect, it } from '@jest/globals';
import { CITY_FORMAT } from '../formats/city.format.js';
import { checkDocument } from '../formats/read.js';
import type { Issue } from '../issue.js';
import { plain } from '../tree.js';
import { FILE_BYTES, parseToml } from './parse.js';

function refused(text: string): Omit<Issue, 'severity' | 'file'> | undefined {
  const issues: Issue[] = [];
  const document = parseToml(text, 'city.toml', issues);
  if (document !== undefined) return undefined;
  expect(issues).toHaveLength(1);
  const { severity, file, ...rest } = issues[0]!;
  expect({ severity, file }).toEqual({ severity: 'error', file: 'city.toml' });
  return rest;
}

const NUL = 'contains a NUL or half a surrogate pair';

describe('parsing one file', () => {
  it.each([
    ['a = 1\nb = "secret\n', { key: '', line: 2, message: 'column 12: control characters are not allowed in strings' }],
    ['a = 1\r\n\r\nsecret\r\n', { key: '', line: 3, message: 'column 7: illegal character in key' }],
    ['a = 1\na = 2', { key: '', line: 2, message: 'column 1: trying to redefine an already defined table or value' }],
    ['a = 9007199254740993', { key: '', line: 1, message: 'column 5: integer value cannot be represented losslessly' }],
    ['a = 2026-13-41', { key: '', line: 1, message: 'column 5: invalid date' }],
    ['a = "\\u0000"', { key: 'a', message: NUL }],
    ['[[a]]\nb = [1, { "c d" = "\\u0000" }]', { key: 'a[0].b[1]."c d"', message: NUL }],
    ['"a\\u0000" = 1', { key: '', message: `has a key that ${NUL}` }],
    ['[a]\nb = "\ud800"', { key: 'a.b', message: NUL }],
    ['[a.__proto__]\nb = 1', { key: 'a', message: 'a key cannot be named __proto__' }],
    ['a = { __proto__ = { b = 1 } }', { key: 'a', message: 'a key cannot be named __proto__' }],
  ])('refuses %j without repeating it', (text, told) => {
    expect(refused(text)).toEqual(told);
  });

  it('takes a byte order mark, line ends of both kinds, and names that objects have', () => {
    const issues: Issue[] = [];
    const document = parseToml('\ufeffa = 1\r\n[constructor]\ntoString = 2\nhasOwnProperty = 3\n', 'f', issues);
    expect(issues).toEqual([]);
    expect(JSON.parse(JSON.stringify(document))).toEqual({ a: 1, constructor: { toString: 2, hasOwnProperty: 3 } });
    const table = checkDocument('[workspace.env]\nconstructor = "a"\ntoString = "b"\n', 'f', CITY_FORMAT, issues);
    expect(issues).toEqual([]);
    expect(plain(table!)).toEqual({ workspace: { env: { constructor: 'a', toString: 'b' } } });
    expect(({} as Record<string, unknown>).b).toBeUndefined();
  });
});

describe('a file that is meant to hurt', () => {
  const size = FILE_BYTES;
  const bombs: [what: string, text: string, told: string][] = [
    ['size', `a = "${'x'.repeat(size)}"`, `is larger than ${size} bytes`],
    ['size in bytes', `a = "${'ü'.repeat(size / 2)}"`, `is larger than ${size} bytes`],
    ['a long text', `a = "${'x'.repeat(65_537)}"`, 'is longer than 65536 characters: a file can hold it'],
    ['a long name', `${'a'.repeat(1_001)} = 1`, 'has a key that is longer than 1000 characters'],
    ['lists in lists', `a = ${'['.repeat(size / 2)}`, 'column 37: document contains excessively nested structures. aborting.'],
    ['tables in tables', `a = ${'{a='.repeat(size / 4)}`, 'column 101: document contains excessively nested structures. aborting.'],
    ['a long dotted key', `a${'.a'.repeat(size / 2 - 10)} = 1`, 'has more than 32 tables and lists inside each other'],
    ['a long header', `[a${'.a'.repeat(size / 32)}]`, 'has more than 32 tables and lists inside each other'],
    ['many values', `a = [${'1,'.repeat(size / 2 - 10)}]`, 'is one of more than 20000 values'],
    ['an open text', `a = """${'"" '.repeat(size / 4)}`, expect.stringMatching(/^column \d+: unfinished string$/) as unknown as string],
  ];

  it.each(bombs)('is refused for %s', (_, text, told) => {
    expect(refused(text)?.message).toEqual(told);
  });

  it('with wrong keys without number is told in few words', () => {
    const issues: Issue[] = [];
    const text = `${Array.from({ length: 10_000 }, (_, n) => `k${n} = 1\n`).join('')}[workspace]\nprovider = 5\n"${'x'.repeat(900)}" = 1`;
    checkDocument(text, 'city.toml', CITY_FORMAT, issues);
    expect(issues).toHaveLength(101);
    expect(issues.filter(({ severity }) => severity === 'error').map(({ key }) => key)).toEqual(['workspace.provider']);
    expect(issues.at(-1)).toEqual({ severity: 'warning', file: 'city.toml', key: '', message: 'and 9902 more of this file' });
    for (const { key } of issues) expect(key.length).toBeLessThanOrEqual(201);
  });
});
