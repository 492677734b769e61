/** How many events of each stream are counted, where all of them together are `most`: what short ones leave, long ones have. */
export function shareOfCounts(sizes: readonly number[], most: number): number {
  const ascending = sizes.map((size) => Math.max(0, size)).sort((a, b) => a - b);
  let left = most;
  for (const [n, size] of ascending.entries()) {
    const each = Math.max(1, Math.floor(left / (ascending.length - n)));
    if (size > each) return each;
    left -= size;
  }
  return most;
}
