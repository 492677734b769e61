import { get, type Call } from './client.js';

export interface Items<T> {
  readonly items: readonly T[];
  readonly total: number | undefined;
  /** There are more than were read. */
  readonly more: boolean;
}

interface Page<T> {
  readonly items: readonly T[] | null;
  readonly total?: number;
  readonly next_cursor?: string;
}

export type Query = NonNullable<Call['query']>;

/** The first pages of a list, as many as are asked for. */
export async function readPages<T>(path: string, query: Query, pages: number, signal: AbortSignal): Promise<Items<T>> {
  const items: T[] = [];
  let cursor: string | undefined;
  let total: number | undefined;
  for (let page = 0; page < pages; page++) {
    const answer = await get<Page<T>>(path, { query: { ...query, cursor }, signal });
    items.push(...(answer.items ?? []));
    total = answer.total;
    cursor = answer.next_cursor;
    if (cursor === undefined) break;
  }
  return { items, total, more: cursor !== undefined };
}

export const readAll = <T>(path: string, signal: AbortSignal, query: Query = {}): Promise<Items<T>> =>
  readPages<T>(path, { limit: 500, ...query }, 40, signal);
