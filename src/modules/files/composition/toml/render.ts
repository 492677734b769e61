import { parse, stringify } from 'smol-toml';
import { parseTOML, type AST } from 'toml-eslint-parser';
import { join } from '../tree.js';
import { same } from './equal.js';
import { rewriteValue } from './inside.js';
import type { Path } from './layout.js';

/** A table, or a list of tables, with headers of its own. */
export function renderSection(path: Path, value: unknown): string {
  return stringify(nested(path, value));
}

/** `a.b = value` on one line. */
export function renderPair(keys: Path, value: unknown): string {
  return `${keys.reduce<string>((at, key) => join(at, String(key)), '')} = ${renderValue(value)}`;
}

function renderValue(value: unknown): string {
  // Inside a list of lists everything is written on one line, tables too.
  const [before, after] = ['v = [ [ ', ' ] ]\n'];
  return stringify({ v: [[value]] }).slice(before.length, -after.length);
}

/** A pair with another value; comments and lines inside lists and inline tables stay where that is possible. */
export function changePair(pair: string, keys: Path, value: unknown): string {
  const text = pair.replaceAll('\r\n', '\n');
  const node = parseTOML(text, { tomlVersion: '1.1' }).body[0].body[0] as AST.TOMLKeyValue;
  const present = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], parse(text));
  const changed = text.slice(0, node.value.range[0]) + rewriteValue(text, node.value, present, value, renderValue);
  return says(changed, nested(keys, value)) ? changed : renderPair(keys, value);
}

function says(text: string, desired: Record<string, unknown>): boolean {
  try {
    return same(parse(text), desired);
  } catch {
    return false;
  }
}

/** The document in which a value stands at a path; numbers are left to headers. */
function nested(path: Path, value: unknown): Record<string, unknown> {
  const keys = path.filter((segment) => typeof segment === 'string');
  return keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}
