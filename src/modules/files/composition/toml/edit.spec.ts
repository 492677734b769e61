import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { anyText } from '../../../../../test/support/any-text.js';
import { join } from '../tree.js';
import { editToml, TomlEditError } from './edit.js';
import { same } from './equal.js';

type Doc = Record<string, any>;

const CITY = `# Our city, since 2026
include = ["site/limits.toml"] # machine limits

# Who works here
[workspace]
provider = "claude" # the team plan
args = [
  "--verbose", # noisy
  "--fast",
]

# Sorts mail
[[agent]]
name = "triager" # first

# Builds
# things
[[agent]]
name = "builder"
scope = "rig"
[agent.env]
DEBUG = "1" # for now
# LOUD = "1"

[providers.claude]
base = "builtin:claude"
options.effort = "high"
`;

function edited(change: (document: Doc) => void, text = CITY): string {
  const document = structuredClone(parse(text)) as Doc;
  change(document);
  const result = editToml(text, document);
  expect(same(parse(result), JSON.parse(JSON.stringify(document)))).toBe(true);
  return result;
}

/** What an edit removed and added, as lines. */
function difference(before: string, after: string): { gone: string[]; come: string[] } {
  const come = after.split('\n');
  const gone = before.split('\n').filter((line) => {
    const at = come.indexOf(line);
    if (at !== -1) come.splice(at, 1);
    return at === -1;
  });
  return { gone: gone.filter((line) => line !== '').sort(), come: come.filter((line) => line !== '').sort() };
}

describe('editing TOML', () => {
  it.each<[string, (document: Doc) => void, string[], string[]]>([
    ['a scalar', (d) => (d.workspace.provider = 'codex'), ['provider = "claude" # the team plan'], ['provider = "codex" # the team plan']],
    ['a list with comments', (d) => d.workspace.args.push('-x'), [], ['  "-x",']],
    ['a new key of a table', (d) => (d.workspace.timezone = 'UTC'), [], ['timezone = "UTC"']],
    ['a new key at the top', (d) => (d.zone = 1), [], ['zone = 1']],
    ['a new list of tables', (d) => (d.rigs = [{ name: 'r' }]), [], ['[[rigs]]', 'name = "r"']],
    ['a new table in a table', (d) => (d.providers.codex = { base: 'builtin:codex' }), [], ['[providers.codex]', 'base = "builtin:codex"']],
    ['a new table in an item', (d) => (d.agent[0].env = { A: '1' }), [], ['[agent.env]', 'A = "1"']],
    ['a key beside a dotted one', (d) => (d.providers.claude.options.model = 'big'), [], ['options.model = "big"']],
    ['a new item', (d) => d.agent.push({ name: 'last' }), [], ['[[agent]]', 'name = "last"']],
    ['an item in front', (d) => d.agent.unshift({ name: 'boss' }), [], ['[[agent]]', 'name = "boss"']],
    ['an item less', (d) => d.agent.shift(), ['# Sorts mail', '[[agent]]', 'name = "triager" # first'], []],
    [
      'an item with a table less',
      (d) => d.agent.pop(),
      ['# Builds', '# things', '[[agent]]', 'name = "builder"', 'scope = "rig"', '[agent.env]', 'DEBUG = "1" # for now', '# LOUD = "1"'],
      [],
    ],
    ['a key less', (d) => delete d.include, ['include = ["site/limits.toml"] # machine limits'], []],
    ['a dotted key less', (d) => delete d.providers.claude.options, ['options.effort = "high"'], []],
    [
      'a list emptied',
      (d) => (d.agent = []),
      CITY.split('\n')
        .slice(11, 23)
        .filter((line) => line !== ''),
      ['agent = []'],
    ],
    ['a table that becomes a text', (d) => (d.agent[1].env = 'x'), ['[agent.env]', 'DEBUG = "1" # for now', '# LOUD = "1"'], ['env = "x"']],
  ])('changes %s and nothing else', (_, change, gone, come) => {
    expect(difference(CITY, edited(change))).toEqual({ gone: gone.toSorted(), come: come.toSorted() });
  });

  it('gives the text back when it says so already', () => {
    expect(editToml(CITY, parse(CITY))).toBe(CITY);
  });

  it.each<[string, string, (v: any) => void, string]>([
    ['an item in the middle', '[1, 2, 3]', (v) => v.splice(1, 1), '[1, 3]'],
    ['the first item', '[ 1, 2 ]', (v) => v.shift(), '[ 2 ]'],
    ['the last item', '[\n  1, # one\n  2 # two\n]', (v) => v.pop(), '[\n  1 # one\n]'],
    [
      'an item with what is said of it',
      '[\n  # the first\n  1, # one\n  # the second\n  2,\n]',
      (v) => v.shift(),
      '[\n  # the second\n  2,\n]',
    ],
    ['an item behind a comment', '[ 1 # one\n]', (v) => v.push(2), '[ 1, # one\n  2\n]'],
    ['an item in front', '[ # all\n    1,\n]', (v) => v.unshift(0), '[ # all\n    0,\n    1,\n]'],
    ['an item of an empty list', '[ # none yet\n]', (v) => v.push(1), '[ # none yet\n  1\n]'],
    ['every item', '[1, 2, # two\n]', (v) => v.splice(0), '[]'],
    ['a text with signs', '["a # b", "c, d"]', (v) => v.splice(1, 0, '# x'), '["a # b", "# x", "c, d"]'],
    ['a comma on a line of its own', '[ 1 # one\n  , 2 ]', (v) => v.pop(), '[ 1 # one\n   ]'],
    ['a list in a list', '[[1, 2], [\n  3, # three\n]]', (v) => v[1].push(4), '[[1, 2], [\n  3, # three\n  4,\n]]'],
    [
      'a table in a list',
      '[{ name = "a", n = 1 }, # first\n { name = "b" }]',
      (v) => (v[0].n = 2),
      '[{ name = "a", n = 2 }, # first\n { name = "b" }]',
    ],
    ['a member of a table', '{ a = 1, b = [1,2] }', (v) => v.b.pop(), '{ a = 1, b = [1] }'],
    ['members of a table', '{ a = 1, b = 2 }', (v) => (delete v.a, (v.c = 3)), '{ b = 2, c = 3 }'],
    ['an item without blanks', '[1,2]', (v) => v.unshift(0), '[0,1,2]'],
    ['a member on a line', '{\n  a = 1, # one\n  b = 2,\n}', (v) => (v.c = 'x'), '{\n  a = 1, # one\n  b = 2,\n  c = "x",\n}'],
    ['a dotted member', '{ a.b = 1 }', (v) => (v.a.c = 2), '{ a = { b = 1, c = 2 } }'],
  ])('changes %s inside a value and nothing else', (_, before, change, after) => {
    expect(edited((d) => change(d.v), `v = ${before} # why\n`)).toBe(`v = ${after} # why\n`);
  });

  it('keeps line ends and a byte order mark', () => {
    const text = `\ufeff${CITY.replaceAll('\n', '\r\n')}`;
    const result = edited((d) => {
      d.agent.push({ name: 'x', env: { A: 'two\nlines' } });
      d.workspace.args.push('y');
      d.top = true;
    }, text);
    expect(result.startsWith('\ufeff# Our city')).toBe(true);
    expect(result.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  it('writes into an empty text and behind a line without an end', () => {
    expect(edited((d) => (d.a = { b: 1 }), '')).toBe('[a]\nb = 1\n');
    expect(edited((d) => (d.b = 2), 'a = 1')).toBe('a = 1\nb = 2\n');
    expect(edited((d) => (d.b = { c: 2 }), 'a = 1')).toBe('a = 1\n\n[b]\nc = 2\n');
  });

  it('refuses what TOML cannot say', () => {
    expect(() => editToml('', { a: null })).toThrow(TomlEditError);
    expect(() => editToml('', JSON.parse('{"a":{"__proto__":1}}'))).toThrow(TomlEditError);
    expect(() => editToml('', { a: () => 1 })).toThrow(TomlEditError);
    expect(editToml('a = 1\n', { a: undefined, b: 'x' })).toBe('b = "x"\n');
  });
});

const key = fc.constantFrom('name', 'env', 'a', 'b-c', 'with blank', 'dot.ted', 'ü', '');
const scalar = fc.oneof(
  anyText(6),
  fc.integer({ min: -1000, max: 1000 }),
  fc.boolean(),
  fc.constantFrom(1.5, -0.25, '# no comment', '[x]', 'two\nlines', '"""'),
);
const { table } = fc.letrec<{ value: unknown; table: Doc }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    tie('table'),
    fc.array(tie('table'), { minLength: 1, maxLength: 3 }),
  ),
  table: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

/** A document in one of the many ways to write it, with a comment of its own on every line that takes one. */
function write(document: Doc, choice: () => number, path: string[] = [], seen = { comments: 0 }): string {
  const lines: string[] = [];
  const note = (): string => `# note ${++seen.comments}.`;
  const sections: string[] = [];
  for (const [name, value] of Object.entries(document)) {
    const at = [...path, name];
    const header = at.reduce((text, part) => join(text, part), '');
    const isTable = typeof value === 'object' && !Array.isArray(value);
    if (isTable && choice() % 3 > 0) sections.push(`${note()}\n[${header}] ${note()}\n${write(value, choice, at, seen)}`);
    else if (Array.isArray(value) && value.length > 0 && typeof value[0] === 'object' && choice() % 3 > 0)
      for (const item of value) sections.push(`${note()}\n[[${header}]]\n${write(item, choice, at, seen)}`);
    else if (isTable && Object.keys(value).length > 0 && choice() % 2 === 0)
      for (const [inner, member] of Object.entries(value)) lines.push(`${join(join('', name), inner)} = ${inline(member)} ${note()}`);
    else lines.push(`${choice() % 2 === 0 ? `${note()}\n` : ''}${join('', name)} = ${inline(value)}`);
  }
  return [...lines, ...sections].map((line) => `${line}\n`).join('');
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
  return `{ ${Object.entries(value)
    .map(([name, member]) => `${join('', name)} = ${inline(member)}`)
    .join(', ')} }`;
}

/** The same value with something changed here and there, deep inside. */
function mutate(value: unknown, choice: () => number, other: unknown): unknown {
  const dice = choice();
  if (dice === 0) return other;
  if (Array.isArray(value)) {
    const items = value.map((item) => (choice() < 2 ? mutate(item, choice, typeof item === 'object' ? { name: 'new' } : 'new') : item));
    if (choice() === 0) items.splice(choice() % (items.length + 1), 1);
    if (choice() === 0 && items.length > 0)
      items.splice(choice() % items.length, 0, typeof items[0] === 'object' ? { name: 'more', env: { A: 1 } } : 'more');
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const luck = choice();
    return luck === 0 ? [] : [[name, luck < 4 ? mutate(member, choice, other) : member]];
  });
  if (choice() === 0) members.push(['added', other]);
  return Object.fromEntries(members);
}

describe('any document, any change', () => {
  it('says what was desired, and keeps the comments of what was not touched', () => {
    fc.assert(
      fc.property(table, table, fc.infiniteStream(fc.nat(5)), fc.boolean(), (document, other, choices, crlf) => {
        const choice = (): number => choices.next().value!;
        const text = write(document, choice).replaceAll('\n', crlf ? '\r\n' : '\n');
        const present = parse(text) as Doc;
        const desired = Object.fromEntries(
          Object.entries(document).flatMap(([name, value]) => {
            const luck = choice();
            return luck === 0 ? [] : [[name, luck < 4 ? mutate(value, choice, other) : value]];
          }),
        );
        if (choice() < 2) Object.assign(desired, { fresh: other });
        const result = editToml(text, desired);
        expect(same(parse(result), desired)).toBe(true);
        if (crlf && text !== '') expect(result.replaceAll('\r\n', '')).not.toContain('\n');
        const kept = Object.keys(present).filter((name) => Object.hasOwn(desired, name) && same(present[name], desired[name]));
        for (const { key, comments } of sectionsOf(document, text))
          if (kept.includes(key)) for (const comment of comments) expect(result).toContain(comment);
      }),
      { numRuns: 400 },
    );
  });
});

/** Comments of a text by the top-level key that they stand in. */
function sectionsOf(document: Doc, text: string): { key: string; comments: string[] }[] {
  const known = Object.keys(document);
  const found = new Map<string, string[]>(known.map((name) => [name, []]));
  let at = known[0];
  let above: string[] = [];
  let inSection = false;
  for (const line of text.split(/\r?\n/)) {
    const header = /^\[\[?(.*?)\]\]?(?: #.*)?$/.exec(line);
    if (/^\s*#/.test(line)) {
      above.push(line);
      continue;
    }
    if (header !== null || (!inSection && line !== '')) {
      inSection ||= header !== null;
      const written = header === null ? line.slice(0, line.indexOf(' =')) : header[1]!;
      at = known.find((name) => written === join('', name) || written.startsWith(`${join('', name)}.`));
    }
    const comment = /# note \d+\.$/.exec(line)?.[0];
    if (at !== undefined) found.get(at)?.push(...above, ...(comment === undefined ? [] : [comment]));
    above = [];
  }
  return [...found].map(([name, comments]) => ({ key: name, comments }));
}
