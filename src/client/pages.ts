/** A page as the list operations answer it. */
export interface ListPage<T> {
  readonly items?: readonly T[] | null;
  readonly total?: number;
  /** There are at least `total`: the service counts so far only. */
  readonly total_is_estimate?: boolean;
  readonly next_cursor?: string;
}

/** The pages of a list, one after the other, each asked for when it is wanted. */
export async function* pagesOf<T>(
  page: (query: { cursor?: string }) => Promise<ListPage<T>>,
): AsyncGenerator<ListPage<T>, void, undefined> {
  let cursor: string | undefined;
  do {
    const found = await page(cursor === undefined ? {} : { cursor });
    yield found;
    cursor = found.next_cursor;
  } while (cursor !== undefined);
}

/** The items of all pages. */
export async function* itemsOf<T>(page: (query: { cursor?: string }) => Promise<ListPage<T>>): AsyncGenerator<T, void, undefined> {
  for await (const { items } of pagesOf(page)) yield* items ?? [];
}

/** All items of a list at once. */
export async function allOf<T>(page: (query: { cursor?: string }) => Promise<ListPage<T>>): Promise<T[]> {
  const all: T[] = [];
  for await (const { items } of pagesOf(page)) all.push(...(items ?? []));
  return all;
}
