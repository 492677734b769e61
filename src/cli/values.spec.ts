import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { age, moment } from './duration.js';
import { fakeIo } from './testing/io.js';
import { durationText, environmentOf, instantOf, networkOf, numberOf, pairsOf, textOf } from './values.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');

describe('instantOf', () => {
  it.each([
    ['2h', true, '2026-03-01T14:00:00.000Z'],
    ['2h', false, '2026-03-01T10:00:00.000Z'],
    ['7d', false, '2026-02-22T12:00:00.000Z'],
    ['2026-01-02', false, '2026-01-02T00:00:00.000Z'],
    ['2026-01-02T03:04:05+02:00', true, '2026-01-02T01:04:05.000Z'],
  ])('reads %s', (text, ahead, instant) => expect(instantOf('--at', text, ahead, NOW)).toBe(instant));

  it.each(['', 'soon', '5', '2026-13-01', '2026-01-02T03:04:05', '99999999999h'])('refuses %p', (text) =>
    expect(() => instantOf('--at', text, true, NOW)).toThrow(`--at: not a time: ${text}`),
  );
});

describe('durationText', () => {
  it('hands a duration on as typed', () => {
    expect([durationText('--lease', '1h30m'), durationText('--lease', '7d')]).toEqual(['1h30m', '7d']);
  });

  it.each(['0', '-1s', 'x', '0d', ''])('refuses %p', (text) =>
    expect(() => durationText('--lease', text)).toThrow('--lease: not a duration'),
  );
});

describe('networkOf', () => {
  it('takes a word, or hosts', () => {
    expect([undefined, 'all', 'api', ' a.example, *.b.example,'].map(networkOf)).toEqual([
      undefined,
      'all',
      'api',
      ['a.example', '*.b.example'],
    ]);
  });

  it.each(['', ',', ' , '])('refuses %p, which would cut everything off', (text) =>
    expect(() => networkOf(text)).toThrow('--network: no host is named'),
  );
});

describe('pairsOf', () => {
  it('splits at the first sign and keeps empty values', () => {
    expect(pairsOf('--metadata', ['a=b=c', 'gone='])).toEqual({ a: 'b=c', gone: '' });
    expect(pairsOf('--metadata', undefined)).toBeUndefined();
  });

  it.each(['a', '=b'])('refuses %p', (text) => expect(() => pairsOf('--metadata', [text])).toThrow('--metadata: expected <key>=<value>'));
});

describe('numberOf', () => {
  it.each(['-1', '1.5', '', 'ten'])('refuses %p', (text) => expect(() => numberOf('--limit', text)).toThrow('--limit: not a whole number'));
});

it('what is wrong with the command line ends it as such, whatever was asked before', () => {
  const wrong = expect.objectContaining({ exitCode: 2 });
  expect(() => pairsOf('--var', ['who'])).toThrow(wrong);
  expect(() => numberOf('--limit', 'x')).toThrow(wrong);
});

describe('textOf', () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-text-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('takes what is typed, a file or stdin, never two of them', async () => {
    writeFileSync(join(dir, 'a.md'), '# A\n');
    const io = fakeIo({ cwd: dir, stdin: 'piped' });
    expect(await textOf('body', 'typed', undefined, io)).toBe('typed');
    expect(await textOf('body', undefined, 'a.md', io)).toBe('# A\n');
    expect(await textOf('body', undefined, '-', io)).toBe('piped');
    expect(await textOf('body', undefined, undefined, io)).toBeUndefined();
    await expect(textOf('body', 'typed', '-', io)).rejects.toThrow('--body and --body-file are mutually exclusive');
    await expect(textOf('body', undefined, 'b.md', io)).rejects.toThrow('--body-file: cannot read b.md: there is no such file');
  });
});

describe('moment', () => {
  it('is to the second and says how long ago', () => {
    expect(moment('2026-03-01T11:48:00.123456+00:00', NOW)).toBe('2026-03-01T11:48:00Z (11m ago)');
    expect(moment('2026-03-02T12:00:00+02:00', NOW)).toBe('2026-03-02T10:00:00Z');
  });
});

describe('age', () => {
  it.each([
    ['2026-03-01T11:59:20Z', '40s'],
    ['2026-03-01T11:48:00Z', '12m'],
    ['2026-02-28T14:00:00Z', '22h'],
    ['2026-02-28T06:00:00Z', '30h'],
    ['2026-01-30T12:00:00Z', '30d'],
    ['2026-03-01T12:00:09Z', '0s'],
  ])('of %s is %s', (instant, text) => expect(age(instant, NOW)).toBe(text));
});

describe('environmentOf', () => {
  const io = fakeIo({ env: { TOKEN: 'a=b', EMPTY: '' } });

  it('takes what is typed, and what is only named from this process', () => {
    expect(environmentOf('--env', ['TIER=low', 'TOKEN', 'EMPTY', 'X='], io)).toEqual({ TIER: 'low', TOKEN: 'a=b', EMPTY: '', X: '' });
    expect(environmentOf('--env', undefined, io)).toBeUndefined();
  });

  it('refuses what is not set, and what has no name', () => {
    expect(() => environmentOf('--env', ['HERE'], io)).toThrow('--env: HERE is not set here');
    expect(() => environmentOf('--env', ['=x'], io)).toThrow('--env: expected <key>=<value>: =x');
  });
});
