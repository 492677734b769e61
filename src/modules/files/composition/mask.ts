/** What stands for a value that must not be shown. */
export const MASK = '********';

/** Tables whose every value is a secret until somebody says otherwise. */
const SECRET_TABLES = new Set(['env', 'headers']);
/** What ends the names of secrets: of keys, flags, variables and headers, in any spelling (`--api-key`, `GITHUB_TOKEN`, `clientSecret`). */
const SECRET_NAME =
  /(?:api|access|auth|private|secret|signing)[-_.]?key$|token$|secret$|passw(?:or)?d$|passphrase$|credentials?$|authorization$|cookie$/i;
/** A reference such as `$GATEWAY_TOKEN` names a secret and is none. */
const REFERENCE = /^["']?\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)["']?$/;
/**
 * Up to the last `@` of what stands where a host does: passwords are often written as they are, also with an `@` or a `/`
 * in them. Every part is bounded, so that a long text takes time in proportion to its length.
 */
const USER_INFO = /:\/\/(?:[^/\s]+|[^\s/:@[]{0,256}:(?!\d{1,5}(?:[/?#\s]|$))[^\s@]{0,256})@/g;
/** The name in `NAME=value`, `"name": value`, `--flag value` and `Header: Bearer value`, and what stands there then. */
const NAMED = /(?<![\w.-])(-{0,2}[A-Za-z][\w.-]{0,100})(["']?[ \t]{0,4}[=:][ \t]{0,4}|[ \t]{1,4}(?!-))/g;
const VALUE = /((?:bearer|basic|token)[ \t]{1,4})?("[^"\n]*"|'[^'\n]*'|[^\s"'&;|,]+)/iy;
/** What secrets of well-known makers look like, wherever they stand. */
const WELL_KNOWN =
  /(?<![\w-])(?:sk-[\w-]{16,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{20,}|svc_[0-9a-f]{12}_[\w-]{20,}|sv[aosx]_[\w-]{16,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+)/g;
/** Longer texts are prompts and files, no command lines: of those only addresses and well-known secrets are looked for. */
export const MAX_LINE = 16_384;
/** Characters on each side of where a line is cut in which secrets are looked for: what is longer than this may be parted. */
export const NEAR = 8_192;

/**
 * A copy of plain configuration values that may be shown. The one rule of what is hidden: values of environments and headers; what
 * has, or follows, the name of a secret, as a key, a flag, a variable or a header; user info in URLs; and what looks like a
 * well-known kind of secret. `key` is the name that the value stands under.
 */
export function masked<T>(value: T, key = ''): T {
  return mask(value, key, false) as T;
}

/** What a program has written: each line of it, however many there are, and however long they are. */
export const maskedLines = (text: string): string => text.split('\n').map(lineMasked).join('\n');

/**
 * Where a line that is longer than `MAX_LINE` is cut, so that each part is masked by itself as both are together: behind the last
 * blank or comma that lies in no secret. It is found by looking once, however many secrets there are.
 */
export function endOfPart(line: string): number {
  if (line.length <= MAX_LINE) return line.length;
  const near = line.slice(MAX_LINE - NEAR, MAX_LINE + NEAR);
  let at = lastPlace(near, NEAR);
  for (const { from, to } of secretsWithPlaces(near, NEAR)) if (from < at && at < to) at = lastPlace(near, from);
  return at === 0 ? MAX_LINE : MAX_LINE - NEAR + at;
}

/** Behind the last blank or comma before `end`; 0 where there is none. */
function lastPlace(text: string, end: number): number {
  let at = end;
  while (at > 0 && !/[\s,]/.test(text[at - 1]!)) at--;
  return at;
}

/** The secrets with their names that begin before `end`, the last one first. Well-known ones have neither blanks nor commas in them. */
function secretsWithPlaces(text: string, end: number): Span[] {
  const found: Span[] = [];
  for (const one of namedSecrets(text)) {
    if (one.from >= end) break;
    found.push(one);
  }
  if (text.includes('://'))
    for (const { 0: whole, index } of text.matchAll(USER_INFO)) {
      if (index >= end) break;
      found.push({ from: index, to: index + whole.length });
    }
  return found.toSorted((one, other) => other.from - one.from);
}

function mask(value: unknown, key: string, secret: boolean): unknown {
  if (Array.isArray(value)) return value.map((item, at) => mask(item, key, secret || followsName(value, at)));
  if (typeof value === 'object' && value !== null) {
    const inside = secret || SECRET_TABLES.has(key);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mask(member, name, inside)]));
  }
  if (secret) return MASK;
  if (typeof value !== 'string' || value === '') return value;
  return isSecret(key, value) ? MASK : textMasked(value);
}

/** `--token`, and then the token. */
function followsName(list: readonly unknown[], at: number): boolean {
  const [before, value] = [list[at - 1], list[at]];
  if (typeof before !== 'string' || typeof value !== 'string' || value.startsWith('-')) return false;
  return /^--?[A-Za-z][\w.-]*$/.test(before) && isSecret(before, value);
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) && value !== 'true' && value !== 'false' && !REFERENCE.test(value);
}

function textMasked(text: string): string {
  return text.length <= MAX_LINE ? lineMasked(text) : addressesMasked(text).replace(WELL_KNOWN, MASK);
}

function lineMasked(line: string): string {
  return namedMasked(addressesMasked(line)).replace(WELL_KNOWN, MASK);
}

function addressesMasked(text: string): string {
  return text.includes('://') ? text.replace(USER_INFO, `://${MASK}@`) : text;
}

function namedMasked(text: string): string {
  let shown = '';
  let from = 0;
  for (const { value, to } of namedSecrets(text)) {
    shown += text.slice(from, value) + MASK;
    from = to;
  }
  return shown + text.slice(from);
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** From the name to the end of the value. Looks at each name once, and at a value only behind the name of a secret. */
function* namedSecrets(text: string): Generator<Span & { readonly value: number }> {
  let from = 0;
  for (const { 0: whole, 1: name, 2: between, index } of text.matchAll(NAMED)) {
    // What a blank follows is a name only as a flag: `token of the day` is text.
    if (index < from || (!name!.startsWith('-') && !/[=:]/.test(between!)) || !SECRET_NAME.test(name!)) continue;
    VALUE.lastIndex = index + whole.length;
    const found = VALUE.exec(text);
    if (found === null || !isSecret(name!, found[2]!)) continue;
    from = VALUE.lastIndex;
    yield { from: index, value: index + whole.length + (found[1] ?? '').length, to: from };
  }
}
