import { TomlDate } from 'smol-toml';

/** A document on its way from one thread to another: what a copy loses is told beside it. */
export interface Carried {
  readonly document: unknown;
  /** Dates as TOML writes them, by where they stand. */
  readonly dates: readonly (readonly [path: readonly (string | number)[], written: string])[];
}

export function carried(document: unknown): Carried {
  const dates: [(string | number)[], string][] = [];
  const look = (value: unknown, path: readonly (string | number)[]): void => {
    if (value instanceof Date) dates.push([[...path], value.toISOString()]);
    else if (Array.isArray(value)) value.forEach((item, n) => look(item, [...path, n]));
    else if (typeof value === 'object' && value !== null) for (const [key, member] of Object.entries(value)) look(member, [...path, key]);
  };
  look(document, []);
  return { document, dates };
}

/** The document, its tables without a prototype as the parser makes them. */
export function unpacked({ document, dates }: Carried): unknown {
  const whole = { document: bare(document) };
  for (const [path, written] of dates) {
    const steps = ['document', ...path];
    let at: Record<string | number, unknown> = whole;
    for (const step of steps.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
    at[steps.at(-1)!] = new TomlDate(written);
  }
  return whole.document;
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const table = Object.create(null) as Record<string, unknown>;
  for (const [key, member] of Object.entries(value)) table[key] = bare(member);
  return table;
}

/** Characters and values of a document, counted up to `most`. */
export function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || value instanceof Date) return 1;
  let size = 2;
  for (const [key, member] of Object.entries(value)) {
    if (size > most) return size;
    size += (Array.isArray(value) ? 0 : key.length) + sizeOf(member, most - size);
  }
  return size;
}
