import { useState } from 'react';
import { get, type Call } from '../../api/client.js';
import { useRead, type Reading } from './read.js';

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

type Query = NonNullable<Call['query']>;

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

interface Paged<T> extends Reading<Items<T>> {
  readonly showMore: () => void;
}

/** A list of which more is read when somebody asks for it, and all that was read again when something has changed. */
export function usePages<T>(path: string, query: Query, sources: Parameters<typeof useRead>[2] = {}): Paged<T> {
  const key = `${path} ${JSON.stringify(query)}`;
  const [open, setOpen] = useState({ key, pages: 1 });
  const pages = open.key === key ? open.pages : 1;
  const reading = useRead<Items<T>>(key, (signal) => readPages<T>(path, query, pages, signal), sources);
  return {
    ...reading,
    showMore: () => {
      setOpen({ key, pages: pages + 1 });
      // The next read is made with what is set by then.
      setTimeout(reading.again, 0);
    },
  };
}
