import type { EntryStatus, RuntimeEvent } from '../port.js';
import type { Grown } from './growth.js';

/** Lines of an entry: what has settled is not written again and again while a long answer grows. */
const ENTRY_LINES = 100;
/** At the end of a line: the next one goes on with it, it was only too long for the screen. */
export const CONTINUED = '\u0000';
const FRAME = /^[\s─━│┃┌┐└┘├┤┬┴┼╭╮╰╯═║╔╗╚╝╠╣▀▄█]*$/u;
/** What stands on both sides of a line in a frame. */
const SIDE = /[\s│┃║]/;

/** Makes entries of what a screen shows in a turn, or between two of them. */
export class TurnText {
  #settled: string[] = [];
  #entry = 1;
  #written = '';

  constructor(
    private readonly emit: (event: RuntimeEvent, bytes: number) => void,
    /** Unique within one process of the agent. */
    private readonly name: string,
    private readonly readyPrefix?: string,
  ) {}

  /** Answers whether anything is different from what it was. */
  add({ settled, open }: Grown): boolean {
    let moved = false;
    this.#settled.push(...settled);
    while (this.#settled.length >= ENTRY_LINES) {
      moved = this.#write(this.#settled.splice(0, ENTRY_LINES), 'final') || moved;
      this.#entry++;
      this.#written = '';
    }
    return this.#write([...this.#settled, ...this.#withoutInput(open)], 'partial') || moved;
  }

  /** Called again it does nothing. */
  end(): void {
    if (this.#written !== '') this.#tell(this.#written, 'final');
    this.#written = '';
  }

  #write(lines: readonly string[], status: EntryStatus): boolean {
    const text = tidy(lines);
    if (text === this.#written) {
      if (status === 'final' && text !== '') this.#tell(text, status);
      return false;
    }
    // A repaint in between shows nothing for a moment; what was there before is better than nothing.
    if (text === '') return false;
    this.#written = text;
    this.#tell(text, status);
    return true;
  }

  #tell(text: string, status: EntryStatus): void {
    const id = `${this.name}.${this.#entry}`;
    this.emit({ type: 'entry', id, kind: 'message', role: 'assistant', status, blocks: [{ type: 'text', text }] }, text.length);
  }

  /** Without the line in which the next input is waited for, and what stands below it. */
  #withoutInput(open: readonly string[]): readonly string[] {
    const prefix = this.readyPrefix?.trim();
    if (prefix === undefined || prefix === '') return open;
    const at = open.findLastIndex((line) => inner(line) === prefix);
    return at === -1 ? open : open.slice(0, at);
  }
}

/** A line without the frame around it, found from both ends: a pattern would look for the right one from each space of the line. */
export function inner(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && SIDE.test(line[start]!)) start++;
  while (end > start && SIDE.test(line[end - 1]!)) end--;
  return line.slice(start, end);
}

function tidy(lines: readonly string[]): string {
  return lines
    .map((line) => (FRAME.test(line) ? '' : line.trimEnd()))
    .join('\n')
    .replaceAll(`${CONTINUED}\n`, '')
    .replaceAll(CONTINUED, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '')
    .trimEnd();
}
