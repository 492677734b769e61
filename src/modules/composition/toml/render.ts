import { patch, stringify as stringifyInline } from '@decimalturn/toml-patch';
import { parse, stringify } from 'smol-toml';
import { join } from '../tree.js';
import { isTable, same } from './equal.js';
import type { Path } from './layout.js';

/** A table, or a list of tables, with headers of its own. */
export function renderSection(path: Path, value: unknown): string {
  return stringify(nested(path, value));
}

/** `a.b = value` on one line. */
export function renderPair(keys: Path, value: unknown): string {
  return `${keys.reduce<string>((at, key) => join(at, String(key)), '')} = ${renderValue(value)}`;
}

export function renderValue(value: unknown): string {
  const pair = isTable(value) || Array.isArray(value) ? stringifyInline({ v: value }, { inlineTableStart: 0 }) : stringify({ v: value });
  return pair.slice(pair.indexOf('=') + 1).trim();
}

/** A pair with another value; comments and lines inside a list stay where that is possible. */
export function changePair(pair: string, keys: Path, value: unknown): string {
  const desired = nested(keys, value);
  const lines = pair.replaceAll('\r\n', '\n');
  try {
    const changed = patch(`${lines}\n`, desired).trimEnd();
    if (same(parse(changed), desired)) return changed;
  } catch {
    // The library knows its limits by throwing anything; what it cannot do is written anew.
  }
  return renderPair(keys, value);
}

/** The document in which a value stands at a path; numbers are left to headers. */
function nested(path: Path, value: unknown): Record<string, unknown> {
  const keys = path.filter((segment) => typeof segment === 'string');
  return keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}
