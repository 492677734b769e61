import { useState } from 'react';

/** Each event has a list drawn anew: more rows than these would hold up the page. */
export const DRAWN = 300;

/** The rows of a long list that are drawn, how many are left, and what draws more of them. */
export function useDrawn<T>(
  rows: readonly T[],
  step = DRAWN,
): { readonly drawn: readonly T[]; readonly left: number; readonly more: () => void } {
  const [most, draw] = useState(step);
  return { drawn: rows.slice(0, most), left: Math.max(0, rows.length - most), more: () => draw(most + step) };
}
