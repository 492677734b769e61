import { problem, type ProblemField } from '../../contract/problems.js';

/**
 * Parses JSON bodies and refuses what parses but cannot be stored or walked: NUL characters and lone surrogates
 * (Postgres takes neither), `__proto__` members and absurd nesting. The walk is taken only when the text hints at one.
 */
const HINT = /\\u(?:0000|[dD][89a-fA-F])|\\u00(?:5[fF]|[67])|__proto__/;
const MAX_DEPTH = 64;
const MAX_ERRORS = 20;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** @throws ProblemError `validation_failed`: 400 when it is not JSON, 422 when it may not be stored. */
export function parseJson(text: string): unknown {
  if (text.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw problem('malformed_json', 'the request body is not valid JSON', { at: 'body', cause });
  }
  if (HINT.test(text) || mayBeDeep(text)) checkValue(value, 'body');
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
