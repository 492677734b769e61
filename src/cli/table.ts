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

/** The last column keeps at least this much, also on a terminal that is too narrow. */
const LAST_MIN = 12;

/**
 * Left-aligned columns, two spaces apart, no trailing blanks. A column that is empty in every row is left out; on a terminal the last
 * one is cut to its width, and states have colours.
 */
export function table(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { width, colour = false }: Partial<Pick<Io, 'width' | 'colour'>> = {},
): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => (row[column] ?? '') !== ''));
  const pick = (row: readonly string[]): string[] => row.map(plain).filter((_, column) => used[column]);
  const lines = [pick(headers), ...rows.map(pick)];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, w) => sum + w + 2, 0);
  const room = width === undefined ? Infinity : Math.max(width - before, LAST_MIN);
  return lines
    .map((line, row) => {
      const cells = line.map((cell, column) => {
        const isLast = column === line.length - 1;
        const text = isLast ? cut(cell, room) : cell;
        const shown = colour && row > 0 ? coloured(lines[0]![column]!, text) : text;
        return isLast ? shown : shown + ' '.repeat(Math.max(0, widths[column]! - widthOf(cell)));
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
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
