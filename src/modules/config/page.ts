import type { ListPage } from '../../contract/query.js';
import { problem } from '../../contract/problems.js';
import { heldItems } from '../../platform/database/page-bytes.js';

const TOKEN = /^(\d{1,15})(?:\.(\d{1,15}))?$/;

/** The position that a page token of this family stands for. @throws ProblemError invalid_cursor */
export function pageToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const found = TOKEN.exec(token);
  if (found === null || found[2] !== undefined)
    throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
  return Number(found[1]);
}

/** A page of a list that belongs to one revision; a token of another revision is refused. @throws ProblemError invalid_cursor */
export function pageAfter<T>(
  all: readonly T[],
  { cursor: token, limit = all.length }: ListPage,
  revision: number,
): { items: T[]; next: { next_cursor?: string } } {
  let start = 0;
  if (token !== undefined) {
    const found = TOKEN.exec(token);
    if (found?.[2] === undefined) throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
    if (Number(found[1]) !== revision)
      throw problem('invalid_cursor', 'the configuration has changed since this cursor; begin again', { at: 'query.cursor' });
    start = Number(found[2]);
  }
  const most = all.slice(start, start + limit);
  const items = most.slice(0, heldItems(most));
  const end = start + items.length;
  return { items, next: end < all.length ? { next_cursor: `${revision}.${end}` } : {} };
}
