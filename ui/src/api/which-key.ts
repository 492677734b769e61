/** Keys that a page may begin with. The one that other pages use comes first: what this tab has kept, or somebody remembered, may be older. */
export const beginsWith = (shared: string | null, stored: string | null, given: string | null): string | null => shared ?? stored ?? given;

/** Whether another key is to be used. A worker that was slow to start says first that it has none: it only has not heard of this page's. */
export const isAnother = (now: string | null, told: string | null, first: boolean): boolean => told !== now && !(first && told === null);
