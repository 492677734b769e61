/** Short id prefix: initials of the parts of a name, else its beginning. */
export function prefixOf(name: string): string {
  const stem = name.replace(/-(py|go)$/, '');
  const words = stem.split(/[-_.]+/).filter((word) => word !== '');
  const parts = words.length > 1 ? words : (stem.match(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g) ?? [stem]);
  const prefix = parts.length > 1 ? parts.map((part) => part[0]).join('') : stem.length <= 3 ? stem : stem.slice(0, 2);
  return prefix.toLowerCase();
}
