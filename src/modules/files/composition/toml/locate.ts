import { parseTOML, type AST } from 'toml-eslint-parser';
import { join } from '../tree.js';

/** The line of a key such as `agent[0].scope`, or of the nearest key around it; undefined when the text says nothing. */
export type KeyLines = (key: string) => number | undefined;

/**
 * Characters of a text whose lines are looked for, and of those the ones that stand beside keys and values: this parser
 * takes 2 s for 256 KiB that the other reads in 0.1, and what it costs goes by these. A city's file has one in a dozen.
 * Issues of a text with more have keys only.
 */
const LOCATED_LENGTH = 64 * 1024;
const LOCATED_MARKS = 6_000;
const MARKS = /[=,.[{]/g;

/** Lines of the keys of a text, counted from 1. The text is parsed at the first question only: that costs far more than reading it. */
export function keyLines(text: string): KeyLines {
  let lines: ReadonlyMap<string, number> | undefined = isLocated(text) ? undefined : new Map();
  return (key) => {
    lines ??= linesOf(text);
    for (let at = key; at !== ''; at = enclosing(at)) {
      const line = lines.get(at);
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

function isLocated(text: string): boolean {
  return text.length <= LOCATED_LENGTH && (text.match(MARKS)?.length ?? 0) <= LOCATED_MARKS;
}

/** The key of the table or list that holds a key; '' for the top. */
export function enclosing(key: string): string {
  if (key.endsWith(']')) return key.slice(0, key.lastIndexOf('['));
  const last = /(?:^|\.)(?:"(?:[^"\\]|\\.)*"|[^."\]]*)$/.exec(key);
  return last === null ? '' : key.slice(0, last.index);
}

function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const note = (path: string, { loc }: AST.TOMLNode): string => {
    if (!lines.has(path)) lines.set(path, loc.start.line);
    return path;
  };
  const value = (node: AST.TOMLContentNode, path: string): void => {
    if (node.type === 'TOMLArray') node.elements.forEach((item, n) => value(item, note(`${path}[${n}]`, item)));
    else if (node.type === 'TOMLInlineTable') for (const pair of node.body) keyValue(pair, path);
  };
  const keyValue = ({ key, value: node }: AST.TOMLKeyValue, path: string): void => {
    let at = path;
    for (const part of key.keys) at = note(join(at, part.type === 'TOMLBare' ? part.name : part.value), part);
    value(node, at);
  };
  try {
    for (const node of parseTOML(text, { tomlVersion: '1.1' }).body[0].body) {
      if (node.type === 'TOMLKeyValue') keyValue(node, '');
      else {
        let at = '';
        for (const part of node.resolvedKey) at = note(typeof part === 'number' ? `${at}[${part}]` : join(at, part), node);
        for (const pair of node.body) keyValue(pair, at);
      }
    }
  } catch (error) {
    // This parser is stricter than the one that read the file; the keys up to here have their lines.
    if (!(error instanceof SyntaxError)) throw error;
  }
  return lines;
}
