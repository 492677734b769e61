import type { Catalogue, Column, Rule } from './catalogue.js';

/** What a release names, by file: every word of its sources. */
export type Words = ReadonlyMap<string, ReadonlySet<string>>;

export function wordsOf(text: string): Set<string> {
  return new Set(text.match(/[A-Za-z_]\w*/g) ?? []);
}

/** What of the new schema those who were written for the old one could not live with. */
export function* breaks(old: Catalogue, now: Catalogue, words: Words): Iterable<string> {
  yield* gone(old, now, words);
  for (const [key, column] of now.columns) if (old.tables.has(column.table)) yield* narrower(key, old.columns.get(key), column);
  for (const [key, rule] of now.rules) if (old.tables.has(rule.table)) yield* ruled(old, old.rules.get(key), rule);
}

function* gone(old: Catalogue, now: Catalogue, words: Words): Iterable<string> {
  for (const table of old.tables)
    if (!now.tables.has(table)) for (const file of named(words, [table])) yield `table ${table} is gone, and ${file} names it`;
  for (const [key, { table, name }] of old.columns)
    if (now.tables.has(table) && !now.columns.has(key))
      for (const file of named(words, [table, name])) yield `column ${key} is gone, and ${file} names both`;
  const left = new Set([...now.functions.keys()].map(nameOf));
  for (const [key, result] of old.functions) {
    const name = nameOf(key);
    const becomes = now.functions.get(key);
    // With other arguments it may still be called as it was: that shows when the statements are described.
    if (becomes === result || (becomes === undefined && left.has(name))) continue;
    const what = becomes === undefined ? `function ${key} is gone` : `function ${key} returns ${becomes} and not ${result}`;
    for (const file of named(words, [name])) yield `${what}, and ${file} names it`;
  }
}

const nameOf = (signature: string): string => signature.slice(0, signature.indexOf('('));

/** The first one is enough to know. */
function named(words: Words, all: readonly string[]): string[] {
  for (const [file, known] of words) if (all.every((word) => known.has(word) || known.has(camelCase(word)))) return [file];
  return [];
}

const camelCase = (word: string): string => word.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function* narrower(key: string, was: Column | undefined, is: Column): Iterable<string> {
  if (was === undefined) {
    if (is.required && !is.filled && !is.computed) yield `column ${key} is new, has to be given, and has no default`;
    return;
  }
  if (was.type !== is.type) yield `column ${key} is ${is.type} and was ${was.type}`;
  if (is.required && !was.required) yield `column ${key} could be null`;
  if (is.required && was.filled && !is.filled && !is.computed) yield `column ${key} had a default`;
  if (is.computed && !was.computed) yield `column ${key} could be written`;
}

function* ruled(old: Catalogue, was: Rule | undefined, is: Rule): Iterable<string> {
  if (was?.text === is.text) return;
  // Who does not know a column does not write it: it has its default, or is null.
  const isOfNew = is.columns.length > 0 && is.columns.every((column) => !old.columns.has(`${is.table}.${column}`));
  if (isOfNew) return;
  if (was !== undefined && allowsMore(was.text, is.text)) return;
  const kept = [...old.rules.values()].some((one) => one.table === is.table && one.text === is.text);
  if (!kept) yield `${is.table} has ${was === undefined ? 'a new rule' : 'another rule'} ${is.name}: ${is.text}`;
}

const LIST = /ARRAY\[([^\]]*)\]/;

/** A list of values that has become longer, and else the same text. */
function allowsMore(was: string, is: string): boolean {
  const [before, after] = [was, is].map((text) => LIST.exec(text));
  if (!before || !after || was.replace(LIST, '') !== is.replace(LIST, '')) return false;
  const values = new Set(after[1]!.split(', '));
  return before[1]!.split(', ').every((value) => values.has(value));
}
