import { isUtf8 } from 'node:buffer';
import { problem, type ProblemField } from '../../contract/problems.js';

/**
 * Parses JSON bodies. What it lets through is stored as it was sent: it refuses what parses but cannot be stored or walked
 * (NUL characters and lone surrogates, which Postgres does not take, `__proto__` members, absurd nesting), and what a parser
 * would change without a word (bytes that are no UTF-8, integers that would be rounded, numbers beyond the largest). The
 * walks are taken only when the text hints at a reason.
 */
const HINT = /\\u(?:0000|[dD][89a-fA-F])|\\u00(?:5[fF]|[67])|__proto__/;
/** Sixteen digits may be rounded; an exponent of two digits may be too large for a number, or too small. */
const NUMBER_HINT = /\d{16}|\d[eE][+-]?\d{2}/;
const MAX_DEPTH = 64;
const MAX_ERRORS = 20;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** @throws ProblemError `unsupported_media_type` for a body that is encoded, otherwise as `parseJson` */
export function parseBody(body: Buffer, encoding: string | undefined): unknown {
  if (encoding !== undefined && !/^\s*identity\s*$/i.test(encoding))
    throw problem('unsupported_media_type', 'the request body must be sent without a content encoding');
  if (!isUtf8(body)) throw problem('malformed_json', 'the request body is not valid UTF-8', { at: 'body' });
  return parseJson(body.toString('utf8'));
}

/** @throws ProblemError `validation_failed`: 400 when it is not JSON, 422 when it may not be stored. */
export function parseJson(text: string): unknown {
  if (text.length === 0) return undefined;
  const numbers = NUMBER_HINT.test(text);
  let value: unknown;
  try {
    value = numbers ? (JSON.parse(text, exactNumbers as Reviver) as unknown) : JSON.parse(text);
  } catch (cause) {
    throw problem('malformed_json', 'the request body is not valid JSON', { at: 'body', cause });
  }
  if (numbers || HINT.test(text) || mayBeDeep(text)) checkValue(value, 'body');
  return value;
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/** Stands in a parsed body where a number cannot be kept. */
class Inexact {
  constructor(readonly why: string) {}
}

function exactNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  if (!Number.isFinite(value)) return new Inexact('must not be larger than 1.7e308');
  if (value === 0 && /[1-9]/.test(source.replace(/[eE].*/, ''))) return new Inexact('must not be closer to 0 than 5e-324');
  // Not finite from 310 digits on: what is left to compare is short.
  if (/^-?\d+$/.test(source) && BigInt(source) !== BigInt(value))
    return new Inexact('must be an integer that is kept exactly: send it as a string');
  return value;
}

function mayBeDeep(text: string): boolean {
  if (text.length <= MAX_DEPTH) return false;
  let opened = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if ((c === OPEN_OBJECT || c === OPEN_ARRAY) && ++opened > MAX_DEPTH) return true;
  }
  return false;
}

/** What is wrong with one text, or undefined. */
export function badText(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL characters';
  if (!text.isWellFormed()) return 'must not contain lone surrogates';
  return undefined;
}

/** @throws ProblemError 422 listing every text that cannot be stored. Iterative: the value may be deeper than the stack. */
export function checkValue(root: unknown, location: string): void {
  const errors: ProblemField[] = [];
  const stack: { value: unknown; at: string; depth: number }[] = [{ value: root, at: location, depth: 0 }];
  while (stack.length > 0 && errors.length < MAX_ERRORS) {
    const { value, at, depth } = stack.pop()!;
    if (typeof value === 'string') {
      const wrong = badText(value);
      if (wrong !== undefined) errors.push({ message: wrong, location: at });
    } else if (value instanceof Inexact) {
      errors.push({ message: value.why, location: at });
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= MAX_DEPTH) {
        errors.push({ message: `must not be nested deeper than ${MAX_DEPTH} levels`, location });
        break;
      }
      for (const key of Object.keys(value)) {
        if (key === '__proto__' || badText(key) !== undefined) errors.push({ message: 'member name not allowed', location: at });
        else stack.push({ value: (value as Record<string, unknown>)[key], at: `${at}.${key}`, depth: depth + 1 });
      }
    }
  }
  if (errors.length > 0) throw problem('validation_failed', 'validation failed', { errors });
}
