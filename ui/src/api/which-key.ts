/** Keys that a page may begin with. The one that other pages use comes first: what this tab has kept, or somebody remembered, may be older. */
export const beginsWith = (shared: string | null, stored: string | null, given: string | null): string | null =>
  usable(shared) ?? usable(stored) ?? usable(given);

/**
 * What of a text keeps it from being a key: what comes along when a text is copied, such as a space without width. A browser sends no request with it
 * at all, which looks as if nobody answered.
 */
export function strangeIn(key: string): string | undefined {
  const [strange] = /[^\x21-\x7e]/u.exec(key) ?? [];
  return strange === undefined ? undefined : `U+${strange.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

const usable = (key: string | null): string | null => (key !== null && strangeIn(key) === undefined ? key : null);

/** Whether another key is to be used. A worker that was slow to start says first that it has none: it only has not heard of this page's. */
export const isAnother = (now: string | null, told: string | null, first: boolean): boolean => told !== now && !(first && told === null);
