/** `830ms`, `4.2s`, `3m05s`, `2h10m`, `3d4h`: short enough for a table or a progress line. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1_000);
  const pad = (n: number): string => String(n).padStart(2, '0');
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${pad(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h${pad(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** An instant for a reader: to the second, in UTC, and how long ago it was. */
export function moment(instant: string, now = Date.now()): string {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return instant;
  const text = new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
  return ms > now ? text : `${text} (${age(instant, now)} ago)`;
}

/** How long ago, in one unit: `40s`, `12m`, `5h`, `30d`. */
export function age(instant: string, now = Date.now()): string {
  const ms = Math.max(0, now - Date.parse(instant));
  const [unit, size] = UNITS.find(([, each]) => ms >= each * (each === 86_400_000 ? 2 : 1)) ?? UNITS[3];
  return Number.isNaN(ms) ? '' : `${Math.floor(ms / size)}${unit}`;
}
