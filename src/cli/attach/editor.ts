import type { Key } from '../terminal.js';

/** What a key asks for beside a change of the text. */
export type Wish = { readonly send: string } | 'interrupt' | 'leave' | 'draw';

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
// oxlint-disable-next-line no-control-regex -- leaving them out is the purpose
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const REMEMBERED = 200;

/** A text as it is typed, of one line or several, with those that were sent before. Keys are those of a shell. */
export class Editor {
  #text = '';
  #at = 0;
  /** What was cut last. */
  #cut = '';
  readonly #history: string[] = [];
  /** Which of those is shown instead of what was typed; undefined for none. */
  #shown: number | undefined;
  #typed = '';
  /** What has come so far of a text that is pasted. */
  #pasted: string[] | undefined;
  /** Ctrl-P was the last key: with Ctrl-Q it leaves, as it does elsewhere. */
  #leaving = false;

  get text(): string {
    return this.#text;
  }

  /** Where the next sign goes. */
  get at(): number {
    return this.#at;
  }

  get empty(): boolean {
    return this.#text === '' && this.#pasted === undefined;
  }

  key(key: Key): Wish | undefined {
    if (this.#pasted !== undefined) return this.#paste(key);
    const leaving = this.#leaving;
    const name = `${key.ctrl ? 'ctrl-' : ''}${key.alt ? 'alt-' : ''}${key.name ?? ''}`;
    this.#leaving = name === 'ctrl-p';
    switch (name) {
      case 'paste-start':
        this.#pasted = [];
        return undefined;
      case 'return':
        return this.#send();
      case 'ctrl-c':
        if (this.#text === '') return 'interrupt';
        return this.#set('', 0);
      case 'ctrl-d':
        return this.#text === '' ? 'leave' : this.#remove(this.#at, this.#next());
      case 'ctrl-q':
        return leaving ? 'leave' : undefined;
      case 'ctrl-l':
        return 'draw';
      default:
        return this.#edit(name, key);
    }
  }

  #edit(name: string, { text, ctrl, alt }: Key): undefined {
    const at = this.#at;
    switch (name) {
      case 'enter':
      case 'alt-return':
      case 'alt-enter':
        return this.#insert('\n');
      case 'left':
      case 'ctrl-b':
        return this.#set(this.#text, this.#before());
      case 'right':
      case 'ctrl-f':
        return this.#set(this.#text, this.#next());
      case 'ctrl-left':
      case 'alt-left':
      case 'alt-b':
        return this.#set(this.#text, this.#wordBefore());
      case 'ctrl-right':
      case 'alt-right':
      case 'alt-f':
        return this.#set(this.#text, this.#wordAfter());
      case 'home':
      case 'ctrl-a':
        return this.#set(this.#text, this.#lineStart());
      case 'end':
      case 'ctrl-e':
        return this.#set(this.#text, this.#lineEnd());
      case 'backspace':
      case 'ctrl-h':
        return this.#remove(this.#before(), at);
      case 'delete':
        return this.#remove(at, this.#next());
      case 'ctrl-w':
      case 'alt-backspace':
        return this.#kill(this.#wordBefore(), at);
      case 'alt-d':
        return this.#kill(at, this.#wordAfter());
      case 'ctrl-u':
        return this.#kill(this.#lineStart(), at);
      case 'ctrl-k':
        // At the end of a line the next one comes up to it.
        return this.#kill(at, this.#lineEnd() === at ? this.#next() : this.#lineEnd());
      case 'ctrl-y':
        return this.#insert(this.#cut);
      case 'up':
      case 'ctrl-p':
        return this.#lineStart() === 0 ? this.#recall(-1) : this.#vertical(-1);
      case 'down':
      case 'ctrl-n':
        return this.#lineEnd() === this.#text.length ? this.#recall(1) : this.#vertical(1);
      default:
        return text === undefined || ctrl || alt ? undefined : this.#insert(text);
    }
  }

  #paste({ name, text }: Key): undefined {
    if (name !== 'paste-end') {
      this.#pasted!.push(text ?? '');
      return undefined;
    }
    const pasted = this.#pasted!.join('').replaceAll(/\r\n?/g, '\n');
    this.#pasted = undefined;
    return this.#insert(pasted);
  }

  #send(): Wish | undefined {
    const text = this.#text.trimEnd();
    this.#set('', 0);
    if (text === '') return undefined;
    if (this.#history.at(-1) !== text) this.#history.push(text);
    if (this.#history.length > REMEMBERED) this.#history.shift();
    this.#shown = undefined;
    return { send: text };
  }

  #set(text: string, at: number): undefined {
    this.#text = text;
    this.#at = at;
  }

  #insert(text: string): undefined {
    const safe = text.replaceAll(CONTROLS, '');
    return this.#set(this.#text.slice(0, this.#at) + safe + this.#text.slice(this.#at), this.#at + safe.length);
  }

  #remove(from: number, to: number): undefined {
    return this.#set(this.#text.slice(0, from) + this.#text.slice(to), from);
  }

  #kill(from: number, to: number): undefined {
    if (from < to) this.#cut = this.#text.slice(from, to);
    return this.#remove(from, to);
  }

  #before(): number {
    let last = '';
    for (const { segment } of SEGMENTS.segment(this.#text.slice(this.#lineStart(), this.#at))) last = segment;
    return Math.max(0, this.#at - (last.length || 1));
  }

  #next(): number {
    for (const { segment } of SEGMENTS.segment(this.#text.slice(this.#at, this.#lineEnd()))) return this.#at + segment.length;
    return Math.min(this.#text.length, this.#at + 1);
  }

  #wordBefore(): number {
    const before = this.#text.slice(0, this.#at);
    return before.length - /\S*\s*$/.exec(before)![0].length;
  }

  #wordAfter(): number {
    return this.#at + /^\s*\S*/.exec(this.#text.slice(this.#at))![0].length;
  }

  #lineStart(at = this.#at): number {
    return at === 0 ? 0 : this.#text.lastIndexOf('\n', at - 1) + 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end < 0 ? this.#text.length : end;
  }

  /** The line above or below, in the same column if it is that long. */
  #vertical(by: -1 | 1): undefined {
    const column = this.#at - this.#lineStart();
    const start = by < 0 ? this.#lineStart(this.#lineStart() - 1) : this.#lineEnd() + 1;
    const end = this.#text.indexOf('\n', start);
    return this.#set(this.#text, Math.min(start + column, end < 0 ? this.#text.length : end));
  }

  #recall(by: -1 | 1): undefined {
    const before = this.#shown ?? this.#history.length;
    const now = before + by;
    if (now < 0 || now > this.#history.length) return undefined;
    if (this.#shown === undefined) this.#typed = this.#text;
    this.#shown = now === this.#history.length ? undefined : now;
    const text = this.#shown === undefined ? this.#typed : this.#history[now]!;
    return this.#set(text, text.length);
  }
}
