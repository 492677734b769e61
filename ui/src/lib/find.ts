/** Members of an entry that nobody reads: what they hold is found in none. */
const UNSEEN = new Set(['id', 'type', 'kind', 'role', 'status', 'tool_call_id', 'request_id', 'provider', 'timestamp', 'usage']);
const DEEPEST = 12;

/** What somebody searches for: as it was typed, whichever case it has; undefined while it is nothing. */
export function patternOf(words: string): RegExp | undefined {
  const typed = words.trim();
  return typed === '' ? undefined : new RegExp(typed.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'gi');
}

/** Whether some text in it, however deep, has what is searched for. */
export function holds(value: unknown, pattern: RegExp, depth = 0): boolean {
  if (typeof value === 'string') {
    pattern.lastIndex = 0;
    return pattern.test(value);
  }
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return false;
  if (Array.isArray(value)) return value.some((one) => holds(one, pattern, depth + 1));
  return Object.entries(value).some(([name, one]) => !UNSEEN.has(name) && holds(one, pattern, depth + 1));
}
