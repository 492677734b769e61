/** Whether a place lies at or below a key written with `[]` for every item of a list and `*` for every name. */
export function matches(pattern: string, path: readonly PropertyKey[]): boolean {
  const parts = partsOf(pattern);
  return parts.length <= path.length && parts.every((part, n) => fits(part, path[n]!));
}

/** `rigs[].imports.*` as `rigs`, `[]`, `imports`, `*`. */
export function partsOf(pattern: string): string[] {
  return pattern === '' ? [] : pattern.replaceAll('[]', '.[]').split('.');
}

function fits(part: string, segment: PropertyKey): boolean {
  return part === '[]' ? typeof segment === 'number' : part === '*' || part === segment;
}
