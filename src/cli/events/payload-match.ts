/** One `--payload-match <path>=<value>`. */
export interface PayloadMatch {
  readonly path: string;
  readonly value: string;
}

/** Splits at the first `=`; undefined when there is none or the path is empty. The value may be empty. */
export function parsePayloadMatch(text: string): PayloadMatch | undefined {
  const at = text.indexOf('=');
  return at <= 0 ? undefined : { path: text.slice(0, at), value: text.slice(at + 1) };
}

/** Different paths must all hold; a path given several times holds with any of its values. */
export function payloadMatches(payload: unknown, matches: readonly PayloadMatch[]): boolean {
  const wanted = new Map<string, string[]>();
  for (const { path, value } of matches) wanted.set(path, [...(wanted.get(path) ?? []), value]);
  for (const [path, values] of wanted) {
    const found = lookup(payload, path);
    if (found === undefined || !values.includes(rendered(found.value))) return false;
  }
  return true;
}

/**
 * At each object the whole remaining path is tried as a literal member name before its first segment is descended
 * into: a member `metadata` may hold a literal `a.b.c`. A path without a dot never descends.
 */
function lookup(payload: unknown, path: string): { value: unknown } | undefined {
  let at = payload;
  let rest = path;
  for (;;) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined;
    const members = at as Record<string, unknown>;
    if (Object.hasOwn(members, rest)) return { value: members[rest] };
    const dot = rest.indexOf('.');
    const segment = rest.slice(0, dot);
    if (dot < 0 || !Object.hasOwn(members, segment)) return undefined;
    at = members[segment];
    rest = rest.slice(dot + 1);
  }
}

/** Text as it is, whole numbers without decimals, the rest as compact JSON. */
function rendered(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value).toString();
  return JSON.stringify(value);
}
