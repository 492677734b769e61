/** A page as the list operations answer it. */
export interface ListPage<T> {
  readonly items?: readonly T[] | null;
  readonly total?: number;
  readonly next_cursor?: string;
}

/** All items of a list whose pages end by bytes alone. */
export async function allOf<T>(page: (query: { cursor?: string }) => Promise<ListPage<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const found = await page(cursor === undefined ? {} : { cursor });
    items.push(...(found.items ?? []));
    cursor = found.next_cursor;
  } while (cursor !== undefined);
  return items;
}
