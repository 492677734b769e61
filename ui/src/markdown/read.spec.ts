import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runInNewContext } from 'node:vm';
import { linkOf } from './links.js';
import { grownPieces, piecesOf, type Block, type Inline } from './read.js';

const blocks = (text: string): Block[] | undefined => piecesOf(text)?.flatMap(({ block }) => (block === undefined ? [] : [block]));
const parts = (text: string): readonly Inline[] => (piecesOf(text)![0]!.block as { parts: readonly Inline[] }).parts;

/** Everything that a reader sees of it, in order. */
function seen(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(seen).join('');
  if (typeof value !== 'object' || value === null) return '';
  const { lang, text, parts: of, blocks: within, items, head, rows } = value as Record<string, unknown>;
  return [lang, text, of, within, items, head, rows].map(seen).join('');
}
const linksIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...('href' in value ? [String(value.href)] : []), ...Object.values(value).flatMap(linksIn)];

describe('text of somebody else, as Markdown', () => {
  it('knows what people write', () => {
    expect(
      blocks('# A *b*\n\none `two` **three**\nfour\n\n- [x] done\n- open\n  1. inner\n\n```ts\nlet a;\n```\n\n> said\n\n---'),
    ).toMatchObject([
      { kind: 'heading', depth: 1, parts: ['A ', { kind: 'em', parts: ['b'] }] },
      { kind: 'paragraph', parts: ['one ', { kind: 'code', text: 'two' }, ' ', { kind: 'strong', parts: ['three'] }, '\nfour'] },
      {
        kind: 'list',
        start: undefined,
        items: [
          [{ kind: 'plain', parts: ['☑ ', 'done'] }],
          [
            { kind: 'plain', parts: ['open'] },
            { kind: 'list', start: 1 },
          ],
        ],
      },
      { kind: 'code', text: 'let a;', lang: 'ts' },
      { kind: 'quote', blocks: [{ kind: 'paragraph', parts: ['said'] }] },
      { kind: 'rule' },
    ]);
    expect(blocks('| a | b |\n|---|---|\n| 1 | *2* |')).toEqual([
      { kind: 'table', head: [['a'], ['b']], rows: [[['1'], [{ kind: 'em', parts: ['2'] }]]] },
    ]);
  });

  it('shows what looks like HTML, and what would say something unseen, as it was written', () => {
    for (const text of [
      '<img src=x onerror=alert(1)>',
      '<script>alert(1)</script>',
      'a <b onclick=x>c</b>',
      '<!-- hidden -->',
      '[//]: # (hidden)',
      '[a]: https://x.example',
    ])
      expect({ text, seen: seen(blocks(text)) }).toEqual({ text, seen: text });
  });

  it('leads to the web and to mail alone, and says where to', () => {
    expect(parts('[x](javascript:alert(1))')).toEqual(['[x](javascript:alert(1))']);
    for (const href of ['data:text/html,x', 'file:///etc/passwd', '/v0/cities', '//host/x', 'https://good.example@evil.example/', 'ui/'])
      expect({ href, link: linkOf(href, 'x') }).toEqual({ href, link: undefined });
    expect(parts('[good.example](https://evil.example/a)')).toEqual([
      { kind: 'link', href: 'https://evil.example/a', host: 'evil.example', parts: ['good.example'] },
    ]);
    expect(parts('https://good.example/a')).toEqual([
      { kind: 'link', href: 'https://good.example/a', host: undefined, parts: ['https://good.example/a'] },
    ]);
    expect(parts('[https://good.example/](https://good.example.evil.example/)')).toMatchObject([{ host: 'good.example.evil.example' }]);
    expect(parts('![pixel](https://elsewhere.example/p.png)')).toMatchObject([{ kind: 'link', parts: ['Image: pixel'] }]);
  });

  it('leaves what is nested or long beyond reason as it was written', () => {
    for (const text of [
      '>'.repeat(16_000),
      '- '.repeat(8_000),
      '1. '.repeat(5_000),
      Array.from({ length: 200 }, (_, i) => `${' '.repeat(2 * i)}- x`).join('\n'),
      'x'.repeat(40_000),
      '|'.repeat(5_000).concat('\n', '|-'.repeat(4_999), '|\n', '|a'.repeat(4_999)),
    ])
      expect(piecesOf(text)).toBeUndefined();
    for (const text of [
      '*a **b '.repeat(2_000),
      '['.repeat(10_000),
      '`a'.repeat(5_000),
      '<a '.repeat(4_000),
      '![['.repeat(4_000),
      '~~x'.repeat(4_000),
    ])
      expect({ of: text.slice(0, 8), whole: seen(blocks(text)).trim() === text.trim() }).toEqual({ of: text.slice(0, 8), whole: true });
  });

  const words = fc.constantFrom(
    '# ',
    '- ',
    '1. ',
    '> ',
    '`',
    '```\n',
    '*',
    '**',
    '|',
    '\n',
    '\n\n',
    '  ',
    'word ',
    '<b>',
    '[a](https://a.example) ',
    '---\n',
    '[a]: b\n',
    '~~',
    '&amp;',
    '\\',
  );
  it('loses no letter of any text, makes no link of what is none, and always ends', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 60 }), (some) => {
        const text = some.join('');
        const pieces = piecesOf(text);
        if (pieces === undefined) return;
        expect(seen(blocks(text)).match(/word/g)?.length ?? 0).toBe(text.match(/word/g)?.length ?? 0);
        for (const href of linksIn(pieces)) expect(href).toMatch(/^https:\/\/a\.example\/$/);
      }),
    );
  });

  it('loses no word of a text that grows', () => {
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 40 }), (some) => {
        let text = '';
        let pieces = piecesOf('')!;
        for (const word of some) {
          pieces = grownPieces({ text, pieces }, text + word)!;
          text += word;
        }
        const found = pieces.map(({ block }) => seen(block)).join('');
        expect(found.match(/word/g)?.length ?? 0).toBe(text.match(/word/g)?.length ?? 0);
      }),
    );
  });

  it('reads a comment of many lines each time at once while it grows', () => {
    const lengths = Array.from({ length: 200 }, (_, n) => 26_000 + n * 30);
    const read = (): unknown[] => lengths.map((length) => blocks(`<!--${'\n'.repeat(length)}-->\n\n`));
    // Half a second for each of them would be a page that does not move for minutes.
    const last = (runInNewContext('read()', { read }, { timeout: 20_000 }) as unknown[]).at(-1);
    expect(JSON.stringify(last) === JSON.stringify([{ kind: 'paragraph', parts: [`<!--${'\n'.repeat(lengths.at(-1)!)}-->`] }])).toBe(true);
  });

  it('keeps what has been read of a text that grows', () => {
    const text = 'one\n\ntwo\n\nthr';
    const pieces = piecesOf(text)!;
    const grown = grownPieces({ text, pieces }, `${text}ee`)!;
    expect(grown[0]).toBe(pieces[0]);
    expect(grown.at(-1)).toEqual({ raw: 'three', block: { kind: 'paragraph', parts: ['three'] } });
  });
});
