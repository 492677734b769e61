/** Characters of a configuration that cost as much as one of TOML that is edited; measured with the dearest, a comparison with values. */
const PER_CHARACTER = 16;

/** What is done with stored configurations, in the units of `INLINE_COST`. */
export function costOf(...texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0) / PER_CHARACTER;
}
