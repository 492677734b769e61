import { parseTOML, type AST } from 'toml-eslint-parser';

export type Path = readonly (string | number)[];

/** `key = value` as it stands in a text. */
export interface Entry {
  /** From the top of the document. */
  readonly path: Path;
  /** How many keys of the path are written here; more than one for a dotted key. */
  readonly own: number;
  /** The whole pair, and its value alone. */
  readonly range: readonly [start: number, end: number];
  readonly value: readonly [start: number, end: number];
}

/** A header with the pairs below it; the first block of a text is what stands before any header. */
export interface Block {
  readonly path: Path;
  readonly entries: readonly Entry[];
  /** Where the header's line begins, and where its comments begin: lines directly above it. */
  readonly start: number;
  readonly lead: number;
  /** Behind the last line that belongs to the block, comments directly below its last pair included. */
  readonly end: number;
  /** Behind the line of the header; 0 for the first block. */
  readonly body: number;
}

/** Where everything stands in a text that parses. @throws SyntaxError */
export function layoutOf(text: string): Block[] {
  const nodes = parseTOML(text, { tomlVersion: '1.1' }).body[0].body;
  const top = nodes.filter((node) => node.type === 'TOMLKeyValue');
  const headers = nodes.filter((node) => node.type === 'TOMLTable');
  const starts = headers.map((node) => lineStart(text, node.range[0]));
  const blocks = headers.map((node, n): Block => {
    const body = lineEnd(text, node.key.range[1]);
    const entries = node.body.map((pair) => entryOf(pair, node.resolvedKey));
    const start = starts[n]!;
    const last = entries.at(-1);
    const end = trailing(text, last === undefined ? body : lineEnd(text, last.range[1]), starts[n + 1] ?? text.length);
    return { path: node.resolvedKey, entries, start, lead: leading(text, start), end, body };
  });
  const entries = top.map((pair) => entryOf(pair, []));
  const last = entries.at(-1);
  const end = last === undefined ? 0 : trailing(text, lineEnd(text, last.range[1]), starts[0] ?? text.length);
  return [{ path: [], entries, start: 0, lead: 0, end, body: 0 }, ...blocks];
}

function entryOf({ key, value, range }: AST.TOMLKeyValue, table: Path): Entry {
  const own = key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));
  return { path: [...table, ...own], own: own.length, range, value: value.range };
}

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}

/** Behind the line break that ends the line of a position. */
export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

/** Where the comments directly above a line begin. Those at the head of the file belong to the file. */
export function leading(text: string, line: number): number {
  let start = line;
  while (start > 0) {
    const above = lineStart(text, start - 1);
    if (!isComment(text, above)) return start;
    start = above;
  }
  return line;
}

/** Behind the comments directly below a line, unless they stand directly above the next header. */
function trailing(text: string, line: number, next: number): number {
  let end = line;
  while (end < next && isComment(text, end)) end = lineEnd(text, end);
  return end === next && next < text.length ? line : end;
}

function isComment(text: string, line: number): boolean {
  return /^[ \t]*#/.test(text.slice(line, line + 200));
}

/** Behind the blank lines that begin at a line. */
export function blank(text: string, line: number): number {
  let end = line;
  while (end < text.length) {
    const next = lineEnd(text, end);
    if (text.slice(end, next).trim() !== '') return end;
    end = next;
  }
  return end;
}
