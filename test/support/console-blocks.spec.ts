import { describe, expect, it } from '@jest/globals';
import { consoleBlocks, lineOf } from './console-blocks.js';

describe('consoleBlocks', () => {
  it('finds commands over several lines, what they print, and why a block is not run', () => {
    const text = [
      '# T',
      '```console',
      '$ a \\',
      '  b',
      'one',
      '',
      '$ c',
      '```',
      '```',
      '$ d',
      '```',
      '<!-- not run: w -->',
      '```console',
      '```',
    ];
    expect(consoleBlocks(text.join('\n'))).toEqual([
      {
        line: 2,
        notRun: undefined,
        steps: [
          { line: 3, command: 'a \\\n  b', output: ['one'] },
          { line: 7, command: 'c', output: [] },
        ],
      },
      { line: 13, notRun: 'w', steps: [] },
    ]);
  });

  it.each([
    ['a loop', '$ for a in b; do\n    c\n  done', 'for a in b; do\n    c\n  done'],
    ['a loop in a line', '$ for a in b; do c; done', 'for a in b; do c; done'],
    ['a text that is read', "$ cat <<'END'\n$ a\nEND", "cat <<'END'\n$ a\nEND"],
  ])('reads %s to its end', (_name, written, command) => {
    const steps = consoleBlocks(`\`\`\`console\n${written}\nprinted\n\`\`\``)[0]?.steps;
    expect(steps).toEqual([{ line: 2, command, output: ['printed'] }]);
  });
});

describe('lineOf', () => {
  it.each([
    ['de-1  open  5s  Write', 'de-1 open 12ms Write', true],
    ['de-1  open  5s  Write', 'de-2 open 5s Write', false],
    ['yours until 2026-11-21T23:52:38Z, fence 1', 'yours until 2027-01-02T03:04:05.678Z, fence 1', true],
    ['yours until 2026-11-21T23:52:38Z, fence 1', 'yours until soon, fence 1', false],
    ['{"request_id":"req-0a1b",…}', '{"request_id":"req-ff99","more":[1]}', true],
    ['{"request_id":"req-0a1b"}', '{"request_id":"req-ff99","more":[1]}', false],
    ['is (it) a.b?', 'is (it) a.b?', true],
    ['is (it) a.b?', 'is (it) axb?', false],
    ['the end', 'the end of it', false],
  ])('%j and %j: %s', (written, printed, fits) => {
    expect(lineOf(written).test(printed)).toBe(fits);
  });
});
