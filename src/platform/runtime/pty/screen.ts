import type { IMarker, Terminal } from '@xterm/headless';
import { Growth, type Grown } from '../screen/growth.js';
import { CONTINUED } from '../screen/turn-text.js';

/** The library lets others have their turn between two pieces, where it has worked for long; resets alone cost 150 ms a KiB. */
const PIECE = 1024;
/** What the library adds to the character before it, for ever; it takes no notice of the last two. */
const MARKS = /[\p{M}\p{Cf}\u06de\u1160-\u11ff\u007f\u009c]+/gu;
/** More than any language has on a character. */
const MAX_MARKS = 16;

/** What a person would see. Everything that a terminal can be told is understood by the library. */
export class Screen {
  /** At the end of what was written. */
  #marks = 0;

  constructor(private readonly terminal: Terminal) {}

  /** Resolves when it can be seen. */
  write(data: string): Promise<void> {
    const text = this.#withFewMarks(data);
    let at = 0;
    for (; at + PIECE < text.length; at += PIECE) this.terminal.write(text.slice(at, at + PIECE));
    return new Promise((resolve) => this.terminal.write(text.slice(at), resolve));
  }

  #withFewMarks(data: string): string {
    let atEnd = 0;
    const text = data.replace(MARKS, (run, at: number) => {
      const before = at === 0 ? this.#marks : 0;
      const marks = [...run];
      if (at + run.length === data.length) atEnd = before + marks.length;
      return marks.slice(0, Math.max(0, MAX_MARKS - before)).join('');
    });
    this.#marks = atEnd;
    return text;
  }

  /** Programs ask terminals who they are and where the cursor stands, and wait for the answer. */
  onReply(listener: (data: string) => void): void {
    this.terminal.onData(listener);
  }

  get pastesAreBracketed(): boolean {
    return this.terminal.modes.bracketedPasteMode;
  }

  /** The visible lines; those that were too long for the screen are whole again. */
  lines(): string[] {
    return whole(this.#rows(this.#top, this.#top + this.terminal.rows));
  }

  /** The last lines, also those that have left the screen, without empty ones at the end. */
  tail(count: number): string[] {
    const rows = whole(this.#rows(0, this.#top + this.terminal.rows));
    const end = rows.findLastIndex((line) => line !== '') + 1;
    return rows.slice(Math.max(0, end - count), end);
  }

  /** What the screen shows from now on; see Growth. */
  follow(): { look(): Grown } {
    const visible = (): string[] => trimmed(this.#rows(this.#top, this.#top + this.terminal.rows));
    const isAlternate = (): boolean => this.terminal.buffer.active.type === 'alternate';
    let normal = isAlternate() ? undefined : this.#followNormal(visible());
    let alternate = isAlternate() ? new Growth(visible()) : undefined;
    return {
      look: () => {
        if (isAlternate()) return (alternate ??= new Growth([])).look(visible());
        return (normal ??= this.#followNormal([]))(visible());
      },
    };
  }

  /** Here lines that leave can be counted: a mark on the last one that had left before shows how many have followed it. */
  #followNormal(before: readonly string[]): (now: readonly string[]) => Grown {
    const growth = new Growth(before);
    let mark = this.#markAbove();
    return (now) => {
      const first = mark === undefined || mark.isDisposed ? 0 : mark.line + 1;
      const passed = this.#rows(first, this.#top);
      mark?.dispose();
      mark = this.#markAbove();
      return growth.look(now, passed);
    };
  }

  #markAbove(): IMarker | undefined {
    return this.#top === 0 ? undefined : this.terminal.registerMarker(-1 - this.terminal.buffer.active.cursorY);
  }

  get #top(): number {
    return this.terminal.buffer.active.baseY;
  }

  #rows(from: number, to: number): string[] {
    const { active } = this.terminal.buffer;
    const rows: string[] = [];
    for (let index = from; index < to; index++) {
      const text = active.getLine(index)?.translateToString(true) ?? '';
      rows.push(active.getLine(index + 1)?.isWrapped === true ? text + CONTINUED : text);
    }
    return rows;
  }
}

function trimmed(rows: readonly string[]): string[] {
  return rows.slice(0, rows.findLastIndex((row) => row !== '') + 1);
}

function whole(rows: readonly string[]): string[] {
  return rows.join('\n').replaceAll(`${CONTINUED}\n`, '').replaceAll(CONTINUED, '').split('\n');
}
