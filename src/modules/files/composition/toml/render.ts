import { patch } from '@decimalturn/toml-patch';
import { parse, stringify } from 'smol-toml';
import { join } from '../tree.js';
import { same } from './equal.js';
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
  // Inside a list of lists everything is written on one line, tables too.
  const [before, after] = ['v = [ [ ', ' ] ]\n'];
  return stringify({ v: [[value]] }).slice(before.length, -after.length);
}

/** Characters of a pair whose lines are kept: what the library does takes quadratic time. */
const PATCHED = 16_384;

/** A pair with another value; comments and lines inside a list stay where that is possible. */
export function changePair(pair: string, keys: Path, value: unknown): string {
  const desired = nested(keys, value);
  return (pair.length > PATCHED ? undefined : patched(pair.replaceAll('\r\n', '\n'), desired)) ?? renderPair(keys, value);
}

function patched(pair: string, desired: Record<string, unknown>): string | undefined {
  try {
    const changed = patch(`${pair}\n`, desired).trimEnd();
    return same(parse(changed), desired) ? changed : undefined;
  } catch {
    // The library tells in many ways what it cannot do.
    return undefined;
  }
}

/** The document in which a value stands at a path; numbers are left to headers. */
function nested(path: Path, value: unknown): Record<string, unknown> {
  const keys = path.filter((segment) => typeof segment === 'string');
  return keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}
