import type { AST } from 'toml-eslint-parser';
import { align } from './align.js';
import { isTable, same, type TomlTable } from './equal.js';

/** Writes a value on one line. */
type Render = (value: unknown) => string;

/** What stands between two commas: a value, or a pair of an inline table, with the lines and comments that go with it. */
interface Item {
  readonly lead: string;
  readonly body: string;
  /** Before the comma, and behind it on its line. */
  readonly gap: string;
  readonly after: string;
}

interface Items {
  /** A comment on the line of the opening bracket. */
  readonly open: string;
  readonly items: readonly Item[];
  /** Whether a comma stands behind the last one, too. */
  readonly comma: boolean;
  readonly close: string;
}

/**
 * A value as it is to be: of lists and inline tables, what stays keeps its text, its lines and its comments. `text` is that in which the
 * node stands, with `\n` as its line ends. The caller compares what the answer says.
 */
export function rewriteValue(text: string, node: AST.TOMLContentNode, present: unknown, desired: unknown, render: Render): string {
  const source = (of: AST.TOMLNode): string => text.slice(...of.range);
  if (same(present, desired)) return source(node);
  if (node.type === 'TOMLArray' && Array.isArray(present) && Array.isArray(desired)) {
    const from = align(present, desired);
    const old = split(text, node, node.elements);
    return `[${joined(
      old,
      desired.map((value: unknown, n) => {
        const at = from[n];
        if (at === undefined) return render(value);
        return { ...old.items[at]!, body: rewriteValue(text, node.elements[at]!, present[at], value, render) };
      }),
    )}]`;
  }
  if (node.type === 'TOMLInlineTable' && isTable(present) && isTable(desired)) {
    // A dotted key has other tables inside: where one is, all is written anew.
    if (node.body.some(({ key }) => key.keys.length > 1)) return render(desired);
    const old = split(text, node, node.body);
    const names = node.body.map(({ key: { keys } }) => (keys[0]!.type === 'TOMLBare' ? keys[0]!.name : keys[0]!.value));
    const kept = names.flatMap((name, n): Item[] => {
      if (!Object.hasOwn(desired, name)) return [];
      const { range, value } = node.body[n]!;
      const body = text.slice(range[0], value.range[0]) + rewriteValue(text, value, present[name], desired[name], render);
      return [{ ...old.items[n]!, body }];
    });
    const fresh = Object.keys(desired).filter((name) => !Object.hasOwn(present, name));
    return `{${joined(old, [...kept, ...fresh.map((name) => pairOf(name, desired, render))])}}`;
  }
  return render(desired);
}

function pairOf(name: string, table: TomlTable, render: Render): string {
  return render({ [name]: table[name] }).replace(/^\{ | \}$/g, '');
}

/** A comment on the line on which it begins. */
const COMMENT = /^[ \t]*#[^\n]*/;

function split(text: string, node: AST.TOMLNode, nodes: readonly AST.TOMLNode[]): Items {
  const end = node.range[1] - 1;
  let rest = text.slice(node.range[0] + 1, nodes[0]?.range[0] ?? end);
  const open = COMMENT.exec(rest)?.[0] ?? '';
  rest = rest.slice(open.length);
  let comma = false;
  const items = nodes.map(({ range }, n): Item => {
    const lead = rest;
    rest = text.slice(range[1], nodes[n + 1]?.range[0] ?? end);
    const at = commaIn(rest);
    comma = at !== undefined;
    const gap = rest.slice(0, at ?? 0);
    rest = at === undefined ? rest : rest.slice(at + 1);
    const after = COMMENT.exec(rest)?.[0] ?? '';
    rest = rest.slice(after.length);
    return { lead, body: text.slice(...range), gap, after };
  });
  return { open, items, comma, close: rest };
}

/** Where the comma stands in what separates two items: blanks, line ends and comments. */
function commaIn(between: string): number | undefined {
  for (const { 0: found, index } of between.matchAll(/#[^\n]*|,/g)) if (found === ',') return index;
  return undefined;
}

/** Items of a list, and new ones, which are written as their neighbours are. */
function joined(old: Items, items: readonly (Item | string)[]): string {
  if (items.length === 0) return `${old.open}${old.close}`.trim() === '' ? '' : `${old.open}${old.close}`;
  const lines = [old.close, ...old.items.map(({ lead }) => lead)].some(breaks);
  const indent = old.items.map(({ lead }) => /\n([ \t]*)$/.exec(lead)?.[1]).findLast((found) => found !== undefined) ?? '  ';
  const line = `\n${indent}`;
  const head = old.items[0]?.lead ?? old.close;
  const blank = old.items.slice(1).find(({ lead }) => !breaks(lead))?.lead ?? ' ';
  const leadOf = (item: Item | string, n: number): string => {
    if (typeof item !== 'string' && breaks(item.lead)) return item.lead;
    if (n === 0) return breaks(head) ? line : head;
    return typeof item === 'string' ? (lines ? line : blank) : item.lead || blank;
  };
  let text = old.open;
  let comment = old.open !== '';
  items.forEach((item, n) => {
    const lead = leadOf(item, n);
    const { body, gap, after } = typeof item === 'string' ? { body: item, gap: '', after: '' } : item;
    const last = n === items.length - 1 && !old.comma;
    text += `${comment && !breaks(lead) ? line : lead}${body}${gap}${last ? '' : ','}${after}`;
    comment = after !== '';
  });
  return `${text}${comment && !breaks(old.close) ? '\n' : ''}${old.close}`;
}

function breaks(blank: string): boolean {
  return blank.includes('\n');
}
