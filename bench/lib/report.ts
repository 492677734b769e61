import { cpus } from 'node:os';

/** One line of the table. A bar may have several. */
export interface Line {
  readonly bar: string;
  readonly what: string;
  readonly ours: string;
  readonly floor: string;
  /** Ours divided by the floor, where the bar is a ratio. */
  readonly ratio?: number;
  /** What the bar asks for, in words. */
  readonly reach: string;
  /** Absent where nothing is asked. */
  readonly met?: boolean;
}

export interface BarResult {
  readonly id: string;
  readonly lines: readonly Line[];
  readonly seconds: number;
  /** Cores that processes other than ours kept busy meanwhile: above 0.3 the figures are not to be trusted. */
  readonly othersCores: number;
}

const COLUMNS = ['bar', 'what', 'ours', 'floor', 'ratio', 'reach', 'met'] as const;

export function table(results: readonly BarResult[]): string {
  const rows = results.flatMap((result) => result.lines.map(cells));
  const widths = COLUMNS.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(COLUMNS), line(widths.map((w) => '-'.repeat(w))), ...rows.map(line)].join('\n');
}

function cells(line: Line): string[] {
  const met = line.met === undefined ? '' : line.met ? 'met' : 'NOT MET';
  return [line.bar, line.what, line.ours, line.floor, line.ratio === undefined ? '' : line.ratio.toFixed(2), line.reach, met];
}

export function machineLine(): string {
  const all = cpus();
  return `${all.length} cores (${all[0]?.model.trim() ?? 'unknown'}), Node ${process.versions.node}`;
}

/** 13637 → 13,637 */
export const count = (n: number): string => Math.round(n).toLocaleString('en-US');
export const ms = (n: number): string => `${n.toFixed(n < 10 ? 2 : 1)} ms`;
export const us = (n: number): string => `${n.toFixed(2)} µs`;
