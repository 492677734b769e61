import { describe, expect, it, jest } from '@jest/globals';
import semver from 'semver';
import type { Git } from '../../../../platform/git/git.js';
import { parseSource, type RepositorySource } from './sources.js';
import { VersionLookup } from './version-lookup.js';
import {
  allow,
  defaultConstraint,
  highest,
  InvalidConstraint,
  parseConstraint,
  pinnedCommit,
  versionOfTag,
  versionsAmong,
} from './versions.js';

const named = ['v1.0', 'v1.2.0', 'v1.2.9', 'v1.10.0', 'v2.0.0', 'v0.3.1', 'v0.4.0'];
const tags = versionsAmong(new Map(named.map((tag) => [`refs/tags/${tag}`, tag])));
const pick = (...constraints: string[]): string | undefined => highest(tags, constraints.map(parseConstraint))?.version;

describe('versions', () => {
  it.each([
    ['v1.2', '1.2.0'],
    ['v0.0.1', '0.0.1'],
    ['v10.20.30', '10.20.30'],
    ['1.2.3', undefined],
    ['v1', undefined],
    ['v1.2.3-rc.1', undefined],
    ['v1.2.3+build', undefined],
    ['v01.2', undefined],
    ['v1.2.3.4', undefined],
    [`v1.${'9'.repeat(400)}`, undefined],
  ])('counts the tag %s as %s', (tag, version) => {
    expect(versionOfTag(tag)).toBe(version);
  });

  it.each([
    [['^1.2'], '1.10.0'],
    [['^1'], '1.10.0'],
    [['~1.2'], '1.2.9'],
    [['~1'], '1.10.0'],
    [['^0.3'], '0.3.1'],
    [['>=1.2, <1.10'], '1.2.9'],
    [['<=1.2'], '1.2.0'],
    [['>1.2', '<2'], '1.10.0'],
    [['1.0'], '1.0.0'],
    [['=v1.2.9'], '1.2.9'],
    [['^1.2', '~1.2'], '1.2.9'],
    [['^1', '^2'], undefined],
    [['3.0'], undefined],
  ])('picks of %j the version %s', (constraints, version) => {
    expect(pick(...constraints)).toBe(version);
  });

  it.each([
    '',
    'latest',
    '*',
    '1.x',
    '^',
    '1.2.3-rc.1',
    '>=1.2 <2',
    '1.2||2',
    'sha:',
    'sha:xyz',
    'sha:12',
    `1.${'9'.repeat(300)}`,
    '^1,',
    '!1',
  ])('refuses %j without repeating it', (text) => {
    expect(() => parseConstraint(text)).toThrow(InvalidConstraint);
  });

  // Guard: 20,000 tags and thousands of imports with versions of their own take seconds, in which nothing else goes on.
  it('asks of each version whether it is between two ends, whatever is demanded', () => {
    const compared = jest.spyOn(semver.SemVer.prototype, 'compare');
    try {
      expect(pick(...Array.from({ length: 100 }, (_, n) => `>=0.${n}`), '<0.3')).toBeUndefined();
      expect(compared.mock.calls.length).toBeLessThan(100 + 4 * tags.length);
    } finally {
      compared.mockRestore();
    }
  });

  it('finds what each range by itself allows', () => {
    const texts = [
      '^1',
      '^0.3',
      '~1.2',
      '>=1.2',
      '>1.2',
      '<=1.2',
      '<1.2',
      '1.2',
      '1.2.9',
      '>=0',
      '<3',
      '^0',
      '~0.4.0',
      '>1.2, <=1.10',
      '>2, <1',
      '=2',
    ];
    for (const one of texts)
      for (const other of texts)
        for (const third of [one, '<2', '>1.2.0']) {
          const asked = [one, other, third];
          const ranges = asked.map((text) => parseConstraint(text)).flatMap((found) => (found.kind === 'range' ? [found.range] : []));
          const wanted = tags.find(({ version }) => ranges.every((range) => range.test(version)))?.version;
          expect([asked, pick(...asked)]).toEqual([asked, wanted]);
          for (const { version, commit } of tags)
            expect([asked, version, allow(asked.map(parseConstraint), { version, commit })]).toEqual([
              asked,
              version,
              ranges.every((range) => range.test(version)),
            ]);
        }
  });

  it('merges pins of commits', () => {
    const short = parseConstraint('sha:ABCDEF1');
    const long = parseConstraint(`sha:abcdef1${'0'.repeat(33)}`);
    expect(pinnedCommit([short, parseConstraint('^1'), long])).toBe(`abcdef1${'0'.repeat(33)}`);
    expect(pinnedCommit([parseConstraint('^1')])).toBeUndefined();
    expect(() => pinnedCommit([short, parseConstraint('sha:1234567')])).toThrow(InvalidConstraint);
    expect(allow([short], { commit: `abcdef1${'0'.repeat(33)}` })).toBe(true);
    expect(allow([parseConstraint('^1')], { commit: 'abcdef1' })).toBe(false);
  });

  it('gives imports without a version one', () => {
    expect(defaultConstraint(tags, 'c'.repeat(40))).toBe('^2.0');
    expect(defaultConstraint([], 'c'.repeat(40))).toBe(`sha:${'c'.repeat(40)}`);
  });
});

// Guard: a city with 2,500 versions of one pack has three million of them read, which holds up everybody for seconds.
it('reads what is demanded of a repository once, however many imports demand something of it', async () => {
  const list = (): Promise<Map<string, string>> => Promise.resolve(new Map([['refs/tags/v1.5', 'a'.repeat(40)]]));
  const lookup = new VersionLookup({ list } as unknown as Git, '/', AbortSignal.timeout(60_000));
  const source = parseSource('https://git.example/pack') as RepositorySource;
  const { Range } = semver;
  const read = jest.spyOn(semver, 'Range').mockImplementation((text) => new Range(text));
  try {
    const wanted: string[] = [];
    for (const version of ['>=1.0', '>=1.1', '>=1.2', '>=1.3']) {
      wanted.push(version);
      expect(await lookup.pin(source, wanted, undefined)).toEqual({ version: '1.5.0', commit: 'a'.repeat(40) });
    }
    expect(read).toHaveBeenCalledTimes(4);
  } finally {
    read.mockRestore();
  }
});
