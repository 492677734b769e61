import type { ProblemField } from '../../contract/problems.js';
import { endOfString } from './json-strings.js';

/** As many as are told. */
const MAX_FOUND = 20;
const QUOTE = 0x22;
const COLON = 0x3a;

/**
 * Members that stand more than once in an object: a parser keeps the last one without a word. There is one exactly where the text has
 * more colons outside of its strings than the value has members, so that nothing is remembered of a text without.
 *
 * @param text valid JSON, nested no deeper than bodies may be
 */
export function doubledMembers(text: string, value: unknown): readonly ProblemField[] {
  if (typeof value !== 'object' || value === null || hasAllOf(text, value)) return [];
  // Parsed once more, each name with the number of its place, so that all of them are there.
  let marked = '';
  let end = 0;
  let n = 0;
  forEachName(text, (to) => {
    marked += `${text.slice(end, to)} ${n++}`;
    end = to;
  });
  const found: ProblemField[] = [];
  collect(JSON.parse(marked + text.slice(end)), 'body', found);
  return found;
}

function hasAllOf(text: string, value: object): boolean {
  let names = 0;
  forEachName(text, () => names++);
  return names === membersOf(value);
}

/** Calls back with where the name of each member ends, before its quote. */
function forEachName(text: string, each: (to: number) => void): void {
  let string = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) at = string = endOfString(text, at);
    else if (c === COLON) each(string);
  }
}

/** Asks an object for nothing that is as large as it: the values of one with 70,000 members took longer than to parse it. */
function membersOf(value: object): number {
  let members = 0;
  const count = (inner: unknown): void => {
    if (typeof inner === 'object' && inner !== null) members += membersOf(inner);
  };
  if (Array.isArray(value)) for (const inner of value) count(inner);
  else
    for (const name in value) {
      members++;
      count((value as Record<string, unknown>)[name]);
    }
  return members;
}

function collect(value: unknown, location: string, found: ProblemField[]): void {
  if (typeof value !== 'object' || value === null) return;
  const names = new Set<string>();
  for (const [marked, inner] of Object.entries(value)) {
    if (found.length >= MAX_FOUND) return;
    const name = Array.isArray(value) ? marked : marked.slice(0, marked.lastIndexOf(' '));
    const at = `${location}.${name}`;
    if (names.has(name)) found.push({ message: 'must not stand twice in its object', location: at });
    else names.add(name);
    collect(inner, at, found);
  }
}
