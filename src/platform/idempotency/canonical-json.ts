import { createHash } from 'node:crypto';

/** JSON text of a decoded JSON value with every object's members sorted, so that equal values have equal texts. Absent members are left out. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** SHA-256 of the canonical JSON: white space and the order of members make no difference. */
export function bodyHash(body: unknown): Buffer {
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(body ?? null))))
    .digest();
}
