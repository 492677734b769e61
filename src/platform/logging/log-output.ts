import { write, writeSync } from 'node:fs';

/** Whoever reads the pipe is behind: it is tried again. */
const BEHIND: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EBUSY']);
const AGAIN_MS = 100;
/** An end waits no longer than that for a reader that stands still. */
const AGAIN_AT_THE_END = 30;
const MOST_CHARS = 16 * 2 ** 20;

/**
 * Text to a file descriptor, in order, one write at a time. What cannot be written, because a disk is full or nobody reads any more, is
 * lost: a log must not end, or hold up, what it tells of. (pino's own stream ends the process, and waits for the disk when it is flushed.)
 */
export class LogOutput {
  #waiting: string[] = [];
  #chars = 0;
  /** Of what is being written, what is left. */
  #rest: Buffer | undefined;
  #underWay = false;

  constructor(private readonly fd: number) {}

  write(text: string): void {
    this.#add(text);
    if (this.#rest === undefined) this.#next();
  }

  /** This and all that waits, before it comes back. What is under way already is left to the system. */
  flushSync(text = ''): void {
    this.#add(text);
    const texts = [this.#underWay ? undefined : this.#rest, this.#taken()];
    this.#rest = undefined;
    for (const text of texts) if (text !== undefined) this.#writeSync(text);
  }

  #add(text: string): void {
    if (text === '' || this.#chars + text.length > MOST_CHARS) return;
    this.#waiting.push(text);
    this.#chars += text.length;
  }

  #taken(): Buffer | undefined {
    if (this.#waiting.length === 0) return undefined;
    const text = Buffer.from(this.#waiting.join(''));
    this.#waiting = [];
    this.#chars = 0;
    return text;
  }

  #next(): void {
    if (this.#underWay) return;
    const text = (this.#rest ??= this.#taken());
    if (text === undefined) return;
    this.#underWay = true;
    write(this.fd, text, (error, written) => {
      this.#underWay = false;
      if (error !== null && BEHIND.has(error.code)) return void setTimeout(() => this.#next(), AGAIN_MS).unref();
      this.#rest = error === null && written < text.length ? text.subarray(written) : undefined;
      this.#next();
    });
  }

  #writeSync(text: Buffer): void {
    for (let at = 0, tries = 0; at < text.length && tries < AGAIN_AT_THE_END;) {
      try {
        at += writeSync(this.fd, text, at);
      } catch (error) {
        if (!BEHIND.has((error as NodeJS.ErrnoException).code)) return;
        tries++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS);
      }
    }
  }
}
