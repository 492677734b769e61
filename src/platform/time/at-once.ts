/**
 * Works on items, so many of them at a time, and begins them in their order; those that are left when `signal` aborts are not begun.
 * A failure holds up none of the others: it is thrown once they have ended.
 */
export async function atOnce<T>(
  most: number,
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const line = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true && signal?.aborted !== true; next = rest.next()) await work(next.value);
  };
  const lines = await Promise.allSettled(Array.from({ length: most }, line));
  for (const each of lines) if (each.status === 'rejected') throw each.reason;
}
