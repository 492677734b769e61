/** The word that somebody meant: within two changes, the nearest first. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  let found: string | undefined;
  let best = 3;
  for (const candidate of words) {
    const far = distance(word, candidate, best);
    if (far < best) [found, best] = [candidate, far];
  }
  return found;
}

/** Insertions, deletions and replacements between two words; `limit` when there are at least as many. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    if (Math.min(...next) >= limit) return limit;
    row = next;
  }
  return row[b.length]!;
}
