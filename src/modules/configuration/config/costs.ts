/** Characters of a configuration that cost as much as one in `INLINE_COST`, measured with the dearest: to show it, and to compare two. */
const SHOWN = 32;
const COMPARED = 128;

/** What showing stored configurations costs. */
export function costOfShowing(...texts: readonly string[]): number {
  return lengthOf(texts) / SHOWN;
}

/** What finding the differences of two costs, without their values. */
export function costOfComparing(...texts: readonly string[]): number {
  return lengthOf(texts) / COMPARED;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
