import { parse } from 'node:querystring';
import { problem, type ProblemError } from '../../contract/problems.js';

const MAX_TARGET = 512 * 1024;
/** Names have at most a thousand characters, and a path has a few of them. */
const MAX_PATH = 16 * 1024;
/** A list takes 1,000 items, each of which may be a parameter of its own. */
const MAX_PARAMETERS = 2_000;
/** Names that are told of a query that nobody declares. */
const MAX_NAMES = 20;

/**
 * For the router, which reads a query before any hook may refuse it: what is beyond the first 2,000 parameters takes no time.
 *
 * @param query what stands behind the question mark
 */
export function parseQuery(query: string): Record<string, unknown> {
  return query === '' ? {} : parse(query, '&', '=', { maxKeys: MAX_PARAMETERS });
}

/**
 * The target that the router gets. It decodes a path several times before any hook may refuse it, and half a megabyte of escapes would block the process for
 * 0.1 s. Of a path that is too long it gets the beginning without escapes, which is still too long, so that the gate refuses it.
 */
export function routableTarget(url: string): string {
  return hasLongPath(url) ? url.slice(0, MAX_PATH + 1).replaceAll('%', '_') : url;
}

/**
 * Refuses request targets that could not be stored, decoded or understood, or take too long to read.
 *
 * @param noQuery whether any parameter is one too many
 * @returns `uri_too_long`, `bad_request` or `validation_failed`
 */
export function refusedTarget(url: string, noQuery: boolean): ProblemError | undefined {
  if (url.length > MAX_TARGET) return problem('uri_too_long', `the request target exceeds ${MAX_TARGET} bytes`);
  if (hasLongPath(url)) return problem('uri_too_long', `the path exceeds ${MAX_PATH} bytes`);
  // In all of it: for the router a query begins at a hash sign as well.
  if (hasMore(url, '&', MAX_PARAMETERS - 1)) return problem('uri_too_long', `the query has more than ${MAX_PARAMETERS} parameters`);
  const at = url.indexOf('?');
  const query = at === -1 ? '' : url.slice(at + 1);
  if (url.includes('%')) {
    const escapes = wellEscaped(query);
    if (!escapes) return problem('bad_request', 'the query has a malformed percent-encoding', { at: 'query' });
    if (url.includes('%00')) {
      const location = query.includes('%00') ? 'query' : 'path';
      return problem('validation_failed', 'validation failed', { errors: [{ message: 'must not contain NUL characters', location }] });
    }
  }
  if (noQuery && query !== '') {
    const names = [...new Set(new URLSearchParams(query).keys())].slice(0, MAX_NAMES);
    const errors = names.map((name) => ({ message: 'unexpected property', location: `query.${name}` }));
    if (errors.length > 0) return problem('validation_failed', 'validation failed', { errors });
  }
  return undefined;
}

function hasLongPath(url: string): boolean {
  // Nearly all are short as a whole.
  return url.length > MAX_PATH && !/[?#]/.test(url.slice(0, MAX_PATH + 1));
}

function hasMore(text: string, of: string, than: number): boolean {
  let found = 0;
  for (let at = text.indexOf(of); at !== -1; at = text.indexOf(of, at + 1)) if (++found > than) return true;
  return false;
}

function wellEscaped(query: string): boolean {
  try {
    decodeURIComponent(query);
    return true;
  } catch {
    return false;
  }
}
