/** Text that Postgres takes: what programs say may hold NUL, or half of a surrogate pair. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Matches a backslash pair first, so that what only looks like an escape stays as it is. */
const UNSTORABLE = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g;

/** JSON that Postgres takes: the same for all texts of a value, names of members included. */
export function storable(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u') ? text.replace(UNSTORABLE, (found) => (found === '\\\\' ? found : '\\ufffd')) : text;
}
