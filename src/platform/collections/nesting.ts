/** Whether a value of JSON is nested deeper than so many levels. It goes down no further itself: a hostile one ends no stack. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
