import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { problem, type ProblemField } from '../../contract/problems.js';
import { doubledMembers } from './doubled-members.js';
import { inexactNumbers, type InexactNumber } from './exact-numbers.js';
import { endOfString } from './json-strings.js';

/**
 * Parses JSON bodies. What it lets through is stored as it was sent: it refuses what parses but cannot be stored or walked
 * (NUL characters and lone surrogates, which Postgres does not take, `__proto__` members, absurd nesting), and what a parser
 * would change without a word (bytes that are no UTF-8, integers that would be rounded, numbers beyond the largest, members that
 * stand twice). The walks are taken only when the text hints at a reason.
 */
const HINT = /\\u(?:0000|[dD][89a-fA-F])|\\u00(?:5[fF]|[67])|__proto__/;
const MAX_DEPTH = 64;
const MAX_ERRORS = 20;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;

/** @throws ProblemError `unsupported_media_type` for a body that is encoded, otherwise as `parseJson` */
export function parseBody(body: Buffer, encoding: string | undefined): unknown {
  return parseJson(textOf(body, encoding));
}

/** A body that is a text as it stands. @throws ProblemError `unsupported_media_type` for one that is encoded, `validation_failed` for no UTF-8 */
export function textOf(body: Buffer, encoding: string | undefined): string {
  requireUnencoded(encoding);
  if (!isUtf8(body)) throw problem('malformed_json', 'the request body is not valid UTF-8', { at: 'body' });
  return body.toString('utf8');
}

/** @throws ProblemError `unsupported_media_type` */
export function requireUnencoded(encoding: string | undefined): void {
  if (encoding !== undefined && !/^\s*identity\s*$/i.test(encoding))
    throw problem('unsupported_media_type', 'the request body must be sent without a content encoding');
}

/** @throws ProblemError `validation_failed`: 400 when it is not JSON, 422 when it may not be stored. */
export function parseJson(text: string): unknown {
  if (text.length === 0) return undefined;
  // Before anything is made of it: a megabyte of brackets takes a parser ten times as long as any other.
  if (isTooDeep(text)) refuse([{ message: `must not be nested deeper than ${MAX_DEPTH} levels`, location: 'body' }]);
  const value = parsed(text);
  if (HINT.test(text)) refuse(wrongIn(value));
  refuse(doubledMembers(text, value));
  const numbers = inexactNumbers(text);
  if (numbers.length > 0) refuse(placesOf(numbers, text));
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw problem('malformed_json', 'the request body is not valid JSON', { at: 'body', cause });
  }
}

/** Parses once more with a mark in the place of each number. */
function placesOf(numbers: readonly InexactNumber[], text: string): ProblemField[] {
  const secret = randomUUID();
  const marks = new Map(numbers.map(({ why }, i) => [`${secret} ${i}`, why]));
  let marked = '';
  let end = 0;
  for (const [i, { from, to }] of numbers.entries()) {
    marked += `${text.slice(end, from)}"${secret} ${i}"`;
    end = to;
  }
  return wrongIn(parsed(marked + text.slice(end)), (value) => marks.get(value));
}

function refuse(errors: readonly ProblemField[]): void {
  if (errors.length > 0) throw problem('validation_failed', 'validation failed', { errors });
}

/** Whether it opens more than it may have open, strings aside. It may be no JSON at all. */
function isTooDeep(text: string): boolean {
  if (text.length <= MAX_DEPTH) return false;
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return false;
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (++open > MAX_DEPTH) return true;
    } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) open--;
  }
  return false;
}

/** What is wrong with one text, or undefined. */
function badText(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL characters';
  if (!text.isWellFormed()) return 'must not contain lone surrogates';
  return undefined;
}

/** What is wrong with a body, with its places in the order of the text, at most 20. Never deeper than bodies may be. */
function wrongIn(root: unknown, whyNot: (text: string) => string | undefined = badText): ProblemField[] {
  const errors: ProblemField[] = [];
  const keys: (string | number)[] = ['body'];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      const message = whyNot(value);
      if (message !== undefined) errors.push({ message, location: keys.join('.') });
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length && errors.length < MAX_ERRORS; i++) enter(i, value[i]);
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (errors.length >= MAX_ERRORS) return;
        if (key === '__proto__' || badText(key) !== undefined)
          errors.push({ message: 'member name not allowed', location: keys.join('.') });
        else enter(key, (value as Record<string, unknown>)[key]);
      }
    }
  };
  const enter = (key: string | number, value: unknown): void => {
    keys.push(key);
    visit(value);
    keys.pop();
  };
  visit(root);
  return errors;
}
