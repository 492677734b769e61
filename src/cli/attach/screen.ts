import { stripVTControlCharacters } from 'node:util';
import { seen } from '../harmless.js';
import { cut, widthOf } from '../table.js';

/** What stays at the lower end: a line about the session, and what is typed, with the place of the cursor in it. */
export interface Bottom {
  readonly status: string;
  readonly text: string;
  readonly at: number;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';
const PASTES = '\u001b[?2004h';
const PASTES_NO_MORE = '\u001b[?2004l';
const RESET = '\u001b[0m';
/** Begins the last line anew. */
const ANEW = '\r\u001b[K';
// oxlint-disable-next-line no-control-regex -- the colours of the client's own
const COLOURS = /(\u001b\[[\d;]*m)/;
const PROMPT = '> ';
const MORE = '  ';

/**
 * A terminal whose lower end is drawn over itself: the line of the conversation that still grows, the status, and what is typed. What is
 * finished is written once, and scrolls away as everything on a terminal does.
 */
export class Screen {
  /** The line that still grows, with its colours. */
  #growing = '';
  /** The colour in which it goes on. */
  #colour = '';
  /** How wide the rows of the lower end are, down to that of the cursor. */
  #above: readonly number[] = [];
  #begun = false;
  #ended = false;
  #writing: Promise<void> = Promise.resolve();
  #drawing = false;
  /** What the lower end shows. */
  #drawn = '';

  constructor(
    private readonly write: (text: string) => Promise<void>,
    private readonly size: Size,
    private readonly bottom: () => Bottom,
    private readonly colour: boolean,
  ) {}

  /** Goes on with the conversation. Resolves when the terminal has taken it. */
  print(text: string): Promise<void> {
    if (text === '' || this.#ended) return this.#writing;
    let finished = '';
    const lines = text.split('\n');
    for (const [n, line] of lines.entries()) {
      const anew = line.lastIndexOf(ANEW);
      this.#growing = anew < 0 ? this.#growing + line : line.slice(anew + ANEW.length);
      this.#colour = colourAfter(line, this.#colour);
      if (n === lines.length - 1) break;
      finished += `${this.#growing}${this.#colour === '' ? '' : RESET}\n`;
      this.#growing = this.#colour;
    }
    const rows = rowsOf(this.#growing, this.size.columns - 1);
    finished += rows
      .slice(0, -1)
      .map((row) => `${row}\n`)
      .join('');
    this.#growing = rows.at(-1)!;
    return this.#draw(finished);
  }

  /** Something at the lower end has changed. */
  redraw(): void {
    if (this.#drawing || this.#ended) return;
    this.#drawing = true;
    // Many keys at once, as a text that is pasted, are drawn once.
    setImmediate(() => {
      this.#drawing = false;
      // What is the same is not touched: somebody may be marking it.
      if (!this.#ended && this.#drawn !== this.#now()) void this.#draw('');
    });
  }

  /** All of it anew, from the top of the screen. */
  clear(): Promise<void> {
    this.#above = [];
    return this.#queue('\u001b[H\u001b[2J').then(() => this.#draw(''));
  }

  /** Takes the lower end away. */
  async end(): Promise<void> {
    this.#ended = true;
    const last = stripVTControlCharacters(this.#growing) === '' ? '' : `${this.#growing}${RESET}\r\n`;
    await this.#queue(`${this.#begun ? this.#toTop() : ''}${last}${PASTES_NO_MORE}${SHOW}`);
  }

  #now(): string {
    return JSON.stringify([this.#growing, this.bottom(), this.size.columns, this.size.rows]);
  }

  #draw(finished: string): Promise<void> {
    this.#drawn = this.#now();
    const { columns, rows } = this.size;
    const { status, text, at } = this.bottom();
    const lines: string[] = [];
    if (stripVTControlCharacters(this.#growing) !== '') lines.push(this.#growing + (this.colour ? RESET : ''));
    const about = cut(status, columns - 1);
    lines.push(this.colour ? `\u001b[2m${about}${RESET}` : about);
    const typed = typedRows(text, at, Math.max(columns - PROMPT.length - 1, 4));
    const room = Math.max(rows - lines.length - 1, 1);
    const first = Math.min(Math.max(0, typed.row - room + 1), Math.max(0, typed.rows.length - room));
    const shown = typed.rows.slice(first, first + room);
    const cursorRow = lines.length + typed.row - first;
    lines.push(...shown.map((row, n) => (n + first === 0 ? PROMPT : MORE) + row));
    const begin = `${this.#begun ? '' : PASTES}${HIDE}${this.#toTop()}`;
    const up = lines.length - 1 - cursorRow;
    const place = `\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[${PROMPT.length + typed.column}C${SHOW}`;
    this.#above = lines.slice(0, cursorRow).map((line) => widthOf(stripVTControlCharacters(line)));
    this.#begun = true;
    return this.#queue(begin + finished.replaceAll('\n', '\r\n') + lines.join('\r\n') + place);
  }

  /**
   * To the first row of the lower end, and all from there away. The terminal may have become narrower since it was drawn, and rows have
   * become several. Where its cursor is in such a row, terminals do not agree: rather a row too few is taken away than a word of the agent.
   */
  #toTop(): string {
    const { columns } = this.size;
    const up = this.#above.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return `\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[J`;
  }

  /** One after the other: a terminal that is slow slows what is written. */
  #queue(text: string): Promise<void> {
    this.#writing = this.#writing.then(() => this.write(text));
    return this.#writing;
  }
}

/** The colour that is in force behind a text. */
function colourAfter(text: string, before: string): string {
  return text.split(COLOURS).reduce((colour, part, n) => (n % 2 === 0 ? colour : part === RESET ? '' : colour + part), before);
}

/** A text of one line in rows of so many columns, each with its own colours; at least one. */
export function rowsOf(text: string, columns: number): string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  let colour = '';
  for (const [n, part] of text.split(COLOURS).entries()) {
    if (n % 2 === 1) {
      colour = part === RESET ? '' : colour + part;
      row += part;
      continue;
    }
    for (const { segment } of SEGMENTS.segment(part)) {
      const sign = segment === '\t' ? ' '.repeat(8 - (width % 8)) : segment;
      const wide = widthOf(sign);
      if (width > 0 && width + wide > columns) {
        rows.push(colour === '' ? row : row + RESET);
        row = colour;
        width = 0;
      }
      row += sign;
      width += wide;
    }
  }
  return [...rows, row];
}

interface Typed {
  readonly rows: readonly string[];
  /** Where the cursor is. */
  readonly row: number;
  readonly column: number;
}

/** What is typed in rows of so many columns. */
export function typedRows(text: string, at: number, columns: number): Typed {
  const rows: string[] = [''];
  let width = 0;
  let cursor: Omit<Typed, 'rows'> | undefined;
  const next = (): void => {
    rows.push('');
    width = 0;
  };
  for (const { segment, index } of SEGMENTS.segment(text)) {
    const sign = segment === '\t' ? MORE : seen(segment);
    const wide = segment === '\n' ? 0 : widthOf(sign);
    if (segment !== '\n' && width + wide > columns) next();
    if (index >= at) cursor ??= { row: rows.length - 1, column: width };
    if (segment === '\n') next();
    else {
      rows[rows.length - 1] += sign;
      width += wide;
    }
  }
  if (cursor === undefined && width >= columns) next();
  return { rows, ...(cursor ?? { row: rows.length - 1, column: width }) };
}
