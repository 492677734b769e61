/** The pause after so many failures in a row: `firstMs` after the first one, twice as long after each further one, `mostMs` at the most. */
export function doubled(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.max(0, failures - 1));
}
