/** Milliseconds of the units that a duration is written with. */
const UNITS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const DAY = 86_400_000;
const WHOLE = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h|d))+$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/g;
/** Beyond this (about 292 years) durations are not counted. */
const LONGEST = 2 ** 63 / 1e6;

/**
 * Milliseconds of a duration such as `90s`, `1h30m` or `-2ms`; undefined when it is none.
 * @param days whether `7d` is one too
 */
export function parseDuration(text: string, { days = false } = {}): number | undefined {
  if (text === '0') return 0;
  if (text.length > 64) return undefined;
  const sign = WHOLE.exec(text)?.[1];
  if (sign === undefined) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    if (unit === 'd' && !days) return undefined;
    total += Number(amount) * (unit === 'd' ? DAY : UNITS[unit!]!);
  }
  if (total > LONGEST) return undefined;
  return sign === '-' ? -total : total;
}
