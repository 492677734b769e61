/** Characters of a word that somebody may have meant. Words come from files of anybody: what is compared has to have an end. */
const LONGEST = 64;
/** So many changes make it another word. */
const OTHER = 3;

/** The word that somebody meant: within two changes, or fewer than so many, the nearest first. Nobody is helped with words of more than 64 characters. */
export function nearest(word: string, words: readonly string[], fewer = OTHER): string | undefined {
  if (word.length > LONGEST) return undefined;
  let found: string | undefined;
  let best = Math.min(OTHER, fewer);
  for (const candidate of words) {
    const far = distance(word, candidate, best);
    if (far < best) [found, best] = [candidate, far];
  }
  return found;
}

/** Insertions, deletions and replacements between two words; `limit` when there are at least as many. Only what is less than that apart is looked at. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = new Array<number>(b.length + 1).fill(limit);
    let least = (next[0] = i);
    for (let j = Math.max(1, i - limit + 1); j <= Math.min(b.length, i + limit - 1); j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (next[j]! < least) least = next[j]!;
    }
    if (least >= limit) return limit;
    row = next;
  }
  return Math.min(row[b.length]!, limit);
}
