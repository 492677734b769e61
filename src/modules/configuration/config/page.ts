import type { ListPage } from '../../../contract/query.js';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';

const TOKEN = /^(\d{1,15})(?:\.(\d{1,15}))?$/;

/** The position that a page token of this family stands for. @throws ProblemError invalid_cursor */
export function pageToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const found = TOKEN.exec(token);
  if (found === null || found[2] !== undefined)
    throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
  return Number(found[1]);
}

/** Where a page of a list begins that belongs to one revision; a token of another revision is refused. @throws ProblemError invalid_cursor */
export function startAfter(token: string | undefined, revision: number): number {
  if (token === undefined) return 0;
  const found = TOKEN.exec(token);
  if (found?.[2] === undefined) throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
  if (Number(found[1]) !== revision)
    throw problem('invalid_cursor', 'the configuration has changed since this cursor; begin again', { at: 'query.cursor' });
  return Number(found[2]);
}

/** The page that begins at `start`: as many of the items from there on as it holds, of a list of `total`. */
export function pageFrom<T>(
  start: number,
  most: readonly T[],
  total: number,
  revision: number,
): { items: T[]; next: { next_cursor?: string } } {
  const items = most.slice(0, heldItems(most));
  const end = start + items.length;
  return { items, next: end < total ? { next_cursor: `${revision}.${end}` } : {} };
}

/** The same of a list that is there as a whole. @throws ProblemError invalid_cursor */
export function pageAfter<T>(
  all: readonly T[],
  { cursor, limit = all.length }: ListPage,
  revision: number,
): { items: T[]; next: { next_cursor?: string } } {
  const start = startAfter(cursor, revision);
  return pageFrom(start, all.slice(start, start + limit), all.length, revision);
}
