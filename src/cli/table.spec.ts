import { describe, expect, it } from '@jest/globals';
import { showDuration } from './duration.js';
import { block, columns, cut, facts, plain, table, widthOf } from './table.js';

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
    expect(plain('a\u202e\u2066b\u200b\u{e0041}c \u{1f469}\u200d\u{1f680}')).toBe('abc \u{1f469}\u200d\u{1f680}');
  });
});

describe('a table on a terminal', () => {
  const rows = [
    ['al-1', 'A title that goes on and on'],
    ['al-22', 'short'],
  ];

  it('cuts the last column to the width, and nothing where there is no terminal', () => {
    expect(table(['ID', 'TITLE'], rows, { width: 24 })).toBe('ID     TITLE\nal-1   A title that goe…\nal-22  short\n');
    expect(table(['ID', 'TITLE'], rows)).toContain('A title that goes on and on\n');
  });

  it('colours states, and keeps its columns', () => {
    const states = [
      ['al-1', 'running', 'x'],
      ['al-2', 'crashed', 'y'],
    ];
    expect(table(['ID', 'STATE', 'TITLE'], states, { colour: true })).toBe(
      'ID    STATE    TITLE\nal-1  \u001b[32mrunning\u001b[0m  x\nal-2  \u001b[31mcrashed\u001b[0m  y\n',
    );
    expect(
      table(
        ['ID', 'STATE'],
        [
          ['al-1', 'asleep'],
          ['al-2', 'failed (of a long time-out)'],
        ],
        { colour: true, width: 18 },
      ),
    ).toBe('ID    STATE\nal-1  asleep\nal-2  \u001b[31mfailed (of\u2026\u001b[0m\n');
  });

  it('cuts further before it gives its columns up, and tells value by value where they do not fit even so', () => {
    expect(table(['ID', 'TITLE'], rows, { width: 15 })).toContain('al-1   A title…\n');
    const cities = [
      ['demo', 'crashed', '2', '', '$0.0000', 'al-1'],
      ['', '1 of 2 run', '12', '1', '$0.0000', 'an-id-that-is-longer-than-a-line'],
    ];
    const shown = table(['CITY', 'STATUS', 'SESSIONS', 'IN PROGRESS', 'TODAY', 'BEAD'], cities, { width: 30, colour: true });
    expect(shown).toBe(
      'city: demo\n  status: \u001b[31mcrashed\u001b[0m  sessions: 2\n  today: $0.0000  bead: al-1\n' +
        'status: 1 of 2 run\n  sessions: 12  in progress: 1\n  today: $0.0000\n  bead: an-id-that-is-longer-than-a-line\n',
    );
    expect(table(['', 'A LONG HEADER'], [['today', 'a text that is too long']], { width: 12 })).toBe('today\n  a long header: a text…\n');
  });

  // Guard: a long name in the middle breaks no lines.
  it('cuts the widest column that holds no id where the last one is not enough, to no less than its header', () => {
    const mail = [
      ['an-id-that-is-longer-1', 'unread', 'web/somebody-with-a-very-long-name', 'A subject of more than a few letters'],
      ['al-2', 'provider-terminal-error', 'mayor', 'short'],
    ];
    const shown = table(['ID', 'STATE', 'FROM', 'SUBJECT'], mail, { width: 66, colour: true }).replaceAll('\u001b', '');
    expect(shown.replaceAll(/\[\d+m/g, '')).toBe(
      'ID                      STATE          FROM           SUBJECT\n' +
        'an-id-that-is-longer-1  unread         web/somebody…  A subject o…\n' +
        'al-2                    provider-ter…  mayor          short\n',
    );
    // Half an id is of no use.
    const asked = table(['SESSION', 'REQUEST', 'AGE', 'QUESTION'], [['al-1', 'req-9a7c024d500bdd095a1b65d8', '3s', 'Shall I?']], {
      width: 20,
    });
    expect(asked).toContain('request: req-9a7c024d500bdd095a1b65d8\n');
    // A state is coloured as what it is, also where that is cut off.
    expect(shown).toContain('[31mprovider-ter…[0m');
    expect(table(['A', 'A LONG HEADER', 'B'], [['x', 'y', 'a word or two']], { width: 26 })).toBe(
      'A  A LONG HEADER  B\nx  y              a word…\n',
    );
    // Nor where it stands last, or alone.
    const runs = [['al-1', 'passed', 'convoy-of-some-words', 'run-of-some-more-words']];
    expect(table(['BEAD', 'RESULT', 'CONVOY', 'RUN'], runs, { width: 50 })).toBe(
      'bead: al-1\n  result: passed  convoy: convoy-of-some-words\n  run: run-of-some-more-words\n',
    );
    expect(table(['ID'], [['an-id-that-is-longer-than-a-line']], { width: 20 })).toBe('id: an-id-that-is-longer-than-a-line\n');
  });

  it('shows what there would be where there is nothing, also where its headers do not fit', () => {
    expect(table(['CITY', 'STATUS', 'SESSIONS', 'LAST EVENT'], [], { width: 20 })).toBe('CITY  STATUS  SESSI…\n');
  });

  it('counts what takes two columns twice, and cuts between characters', () => {
    expect([widthOf('日本'), widthOf('👩‍🚀x'), widthOf('é')]).toEqual([4, 3, 1]);
    expect([cut('日本語', 5), cut('👩‍🚀👩‍🚀', 3), cut('abc', 3)]).toEqual(['日本…', '👩‍🚀…', 'abc']);
    expect(
      table(
        ['A', 'B'],
        [
          ['日本', 'x'],
          ['abcd', 'y'],
        ],
      ),
    ).toBe('A     B\n日本  x\nabcd  y\n');
  });
});

describe('block', () => {
  it('keeps lines, without control characters and blank ends', () => {
    expect(block('one\r\n\n\u001b[31mtwo\u001b[0m\n\n')).toBe('  one\n\n  two\n');
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

it('columns without headers stand under each other', () => {
  expect(
    columns([
      ['9s ago', 'bead.created', 'api', ''],
      ['10m ago', 'bead.closed', 'api', 'done'],
    ]),
  ).toBe('9s ago   bead.created  api\n10m ago  bead.closed   api  done\n');
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
