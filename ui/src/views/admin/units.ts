const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

export function bytes(n: number): string {
  let at = 0;
  let left = n;
  for (; left >= 1024 && at < UNITS.length - 1; at++) left /= 1024;
  return `${left < 10 && at > 0 ? left.toFixed(1) : Math.round(left)} ${UNITS[at]}`;
}

/** 13637 → 13.6k: for axes and tiles, where the exact number stands beside. */
export function short(n: number): string {
  const size = Math.abs(n);
  if (size < 1_000) return size < 10 && !Number.isInteger(n) ? n.toFixed(2) : String(Math.round(n));
  if (size < 1_000_000) return `${(n / 1_000).toFixed(size < 10_000 ? 1 : 0)}k`;
  if (size < 1_000_000_000) return `${(n / 1_000_000).toFixed(size < 10_000_000 ? 1 : 0)}M`;
  return `${(n / 1_000_000_000).toFixed(1)}G`;
}

export const dollars = (n: number): string => `$${n.toFixed(n !== 0 && Math.abs(n) < 0.1 ? 4 : 2)}`;

/** What a spreadsheet would read as a formula begins with an apostrophe. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
export const csv = (rows: readonly (readonly (string | number)[])[]): string => rows.map((row) => row.map(cell).join(',')).join('\r\n');
