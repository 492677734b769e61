/** The id prefix that a name gives: the initials of its parts, a short name itself, else how it begins. Always one that ids may have. */
export function prefixOf(name: string): string {
  const stem = name.replace(/-(py|go)$/, '');
  const words = stem.split(/[-_.]+/).filter((word) => word !== '');
  const parts = words.length > 1 ? words : (stem.match(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g) ?? [stem]);
  const short = parts.length > 1 ? parts.map((part) => part[0]).join('') : stem.length <= 3 ? stem : stem.slice(0, 2);
  const usable = short
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/^[0-9]+/, '');
  return usable === '' ? 'b' : usable.slice(0, 12);
}
