import { stripVTControlCharacters } from 'node:util';

/** Control characters never reach the terminal: names and messages come from other people. */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- removing them is the purpose
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** Left-aligned columns, two spaces apart, no trailing blanks. A column that is empty in every row is left out. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = headers.map((_, column) => rows.length === 0 || rows.some((row) => (row[column] ?? '') !== ''));
  const pick = (row: readonly string[]): string[] => row.map(plain).filter((_, column) => used[column]);
  const lines = [pick(headers), ...rows.map(pick)];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** `name: value` lines with the values under each other. */
export function facts(pairs: readonly (readonly [string, string | number | boolean | undefined])[]): string {
  const shown = pairs.filter((pair): pair is readonly [string, string | number | boolean] => pair[1] !== undefined && pair[1] !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length + 1));
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}  ${plain(String(value))}\n`).join('');
}
