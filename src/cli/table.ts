import { stripVTControlCharacters } from 'node:util';
import { withoutTerminalCommands } from '../contract/terminal-commands.js';
import { seen } from './harmless.js';
import type { Io } from './io.js';
import { coloured } from './state-colour.js';

/** Control characters never reach the terminal: names and messages come from other people. */
export function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- removing them is the purpose
  return seen(stripVTControlCharacters(withoutTerminalCommands(text))).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;
const ASCII = /^[ -~]*$/;

/** Columns that a text takes on a terminal; East Asian characters and emoji take two. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** At most `room` columns; what is cut ends with `…`. */
export function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > room - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** A column that is cut keeps at least this much. */
const CUT_MIN = 12;
/** And this much where the terminal is too narrow for that. */
const CUT_MIN_NARROW = 8;
/** What other commands are given, beside the first column: half an id is of no use. */
const WHOLE = new Set(['ID', 'SESSION', 'REQUEST', 'ALIAS', 'BEAD', 'CONVOY', 'RUN', 'CONVERSATION']);
const isWhole = (header: string, column: number): boolean => column === 0 || WHOLE.has(header);

/**
 * Left-aligned columns, two spaces apart, no trailing blanks. A column that is empty in every row is left out; on a terminal the last
 * one is cut to its width, then the widest of those that hold no id. What does not fit even so is told value by value. States have colours.
 */
export function table(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { width, colour = false }: Partial<Pick<Io, 'width' | 'colour'>> = {},
): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => (row[column] ?? '') !== ''));
  const pick = (row: readonly string[]): string[] => row.map(plain).filter((_, column) => used[column]);
  const lines = [pick(headers), ...rows.map(pick)];
  const wanted = lines[0]!.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  const widths = width === undefined ? wanted : fitted(wanted, lines[0]!, width);
  // Of nothing there is no value to tell: its headers say what there would be.
  if (widths === undefined && rows.length === 0) return `${cut(lines[0]!.join('  '), width!)}\n`;
  if (widths === undefined)
    return lines
      .slice(1)
      .map((line) => valuesOf(lines[0]!, line, width!, colour))
      .join('');
  return lines
    .map((line, row) => {
      const cells = line.map((cell, column) => {
        const isLast = column === line.length - 1;
        const text = cut(cell, widths[column]!);
        const shown = colour && row > 0 ? coloured(lines[0]![column]!, text, cell) : text;
        return isLast ? shown : shown + ' '.repeat(Math.max(0, widths[column]! - widthOf(text)));
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/**
 * How wide columns are on a terminal: the last one gives way first, then the widest of the others; none below its header. Undefined where
 * they do not fit: lines that the terminal breaks have no columns.
 */
function fitted(wanted: readonly number[], headers: readonly string[], width: number): number[] | undefined {
  const widths = [...wanted];
  const last = widths.length - 1;
  let over = wanted.reduce((sum, one) => sum + one + 2, -2) - width;
  const narrow = (column: number, by: number, least: number): void => {
    const less = Math.max(0, Math.min(over, by, widths[column]! - least));
    widths[column]! -= less;
    over -= less;
  };
  const all = headers.flatMap((header, column) => (isWhole(header, column) ? [] : [column]));
  if (all.includes(last)) narrow(last, Infinity, CUT_MIN);
  const others = all.filter((column) => column !== last);
  for (const [columns, least] of [[others, CUT_MIN] as const, [all, CUT_MIN_NARROW] as const]) {
    const leastOf = (column: number): number => Math.max(least, column === last ? 0 : widthOf(headers[column]!));
    while (over > 0) {
      const widest = columns.filter((column) => widths[column]! > leastOf(column)).sort((a, b) => widths[b]! - widths[a]!)[0];
      if (widest === undefined) break;
      narrow(widest, 1, leastOf(widest));
    }
  }
  return over > 0 ? undefined : widths;
}

/** A row as lines of `name: value`, the first value that it has at their head. What others are given is whole; what else is too long is cut. */
function valuesOf(headers: readonly string[], row: readonly string[], width: number, colour: boolean): string {
  const lines: string[] = [];
  let taken = Infinity;
  for (const [column, cell] of row.entries()) {
    if (cell === '') continue;
    const header = headers[column]!;
    const name = header === '' ? '' : `${header.toLowerCase()}: `;
    const text = isWhole(header, column) ? cell : cut(cell, Math.max(CUT_MIN_NARROW, width - 2 - widthOf(name)));
    const shown = name + (colour ? coloured(header, text, cell) : text);
    const takes = widthOf(name + text) + 2;
    const follows = lines.length > 1 && taken + takes <= width;
    if (follows) lines[lines.length - 1] += `  ${shown}`;
    else lines.push(lines.length === 0 ? shown : `  ${shown}`);
    taken = follows ? taken + takes : takes;
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** The same without headers. */
export function columns(rows: readonly (readonly string[])[]): string {
  const text = table(
    rows[0]!.map(() => ''),
    rows,
  );
  return text.slice(text.indexOf('\n') + 1);
}

/** A text of several lines, each indented. */
export function block(text: string): string {
  const lines = text.trimEnd().split(/\r?\n/);
  return lines.map((line) => `${`  ${plain(line)}`.trimEnd()}\n`).join('');
}

/** `name: value` lines with the values under each other. */
export function facts(pairs: readonly (readonly [string, string | number | boolean | undefined])[]): string {
  const shown = pairs.filter((pair): pair is readonly [string, string | number | boolean] => pair[1] !== undefined && pair[1] !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length + 1));
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}  ${plain(String(value))}\n`).join('');
}
