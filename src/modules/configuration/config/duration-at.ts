import { parseDuration } from '../../../contract/duration.js';

/**
 * How long something takes or is kept, as the files say it somewhere below `table`, in whole milliseconds, as columns of the database take them.
 * Undefined where they say nothing that counts.
 */
export function durationAt(table: unknown, ...keys: readonly string[]): number | undefined {
  const value = keys.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    table,
  );
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  return ms !== undefined && ms > 0 ? Math.ceil(ms) : undefined;
}
