const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/g;
const WHOLE = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h|d))+$/;
/** How a duration that is not negative looks, for JSON Schema. */
export const DURATION_PATTERN = '^(0|((\\d+(\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h|d))+)$';
/** About 290 years, as far as 64 bits of nanoseconds reach. */
const MAX_MS = 2 ** 63 / 1e6;
const MAX_LENGTH = 64;

/**
 * A duration such as `5m`, `1h30m`, `7d` or `-1.5s` in milliseconds; undefined when it is not one. The one rule for files, requests,
 * variables and flags: the units of Go, and days of 24 hours.
 */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.length > MAX_LENGTH || !WHOLE.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * UNIT_MS[unit!]!;
  if (ms > MAX_MS) return undefined;
  return text.startsWith('-') ? -ms : ms;
}

/** Milliseconds (whole, not negative) as `parseDuration` reads them: `1h30m`, `1.5s`, `0s`. */
export function formatDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = (ms % 60_000) / 1_000;
  const parts = [hours > 0 ? `${hours}h` : '', minutes > 0 ? `${minutes}m` : '', seconds > 0 ? `${seconds}s` : ''];
  return parts.join('') || '0s';
}
