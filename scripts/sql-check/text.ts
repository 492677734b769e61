import type ts from 'typescript';

/** A value that a statement is given when it runs. */
export interface Given {
  readonly type: ts.Type;
}

/** One way in which a statement may read. */
export type Text = readonly (string | Given)[];

/** Every way, each at least once; what depends on the same condition stands at the same place, so ways are put together pairwise. */
export type Ways = readonly Text[];

/** As it reads where nothing is given. */
export const textOf = (text: Text): string => text.map((piece) => (typeof piece === 'string' ? piece : '?')).join('');

export const plain = (text: string): Ways => [[text]];

export function then(...parts: readonly Ways[]): Ways {
  if (parts.some(({ length }) => length === 0)) return [];
  const most = Math.max(...parts.map(({ length }) => length));
  return Array.from({ length: most }, (_, n) => parts.flatMap((ways) => ways[n % ways.length]!));
}

export function joined(parts: readonly Ways[], separator: Ways): Ways {
  if (parts.length === 0) return plain('');
  return then(...parts.flatMap((part, n) => (n === 0 ? [part] : [separator, part])));
}

/** As Postgres is asked, with what is given at `$1` and so on. */
export function asked(text: Text): { sql: string; given: Given[] } {
  const given: Given[] = [];
  const sql = text.map((piece) => (typeof piece === 'string' ? piece : `$${given.push(piece)}`)).join('');
  return { sql, given };
}
