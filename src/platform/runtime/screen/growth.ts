/** What of a text window belongs to the present turn: lines that will not change any more, and those that still may. */
export interface Grown {
  readonly settled: readonly string[];
  readonly open: readonly string[];
}

/**
 * Follows a window of text, of which only the present state can be seen, from a moment on. What stood there before and has
 * not changed is left out. A line settles when it leaves the window over the top.
 */
export class Growth {
  /** The window as it was when the turn began, as far as it has not scrolled away. */
  #before: readonly string[];
  #last: readonly string[];
  /** The first line of the window that belongs to the turn. */
  #start: number;

  constructor(before: readonly string[]) {
    this.#before = before;
    this.#last = before;
    this.#start = before.length;
  }

  /** `passed` are the lines that have left since the last look; they are guessed where nobody can tell. */
  look(now: readonly string[], passed?: readonly string[]): Grown {
    const gone = passed ?? this.#last.slice(0, scrolled(this.#last, now));
    const all = [...gone, ...now];
    const changed = all.findIndex((line, index) => line !== this.#before[index]);
    const start = Math.min(this.#start, changed === -1 ? all.length : changed);
    this.#before = this.#before.slice(gone.length);
    this.#last = now;
    this.#start = Math.max(0, start - gone.length);
    return { settled: gone.slice(start), open: now.slice(this.#start) };
  }
}

/**
 * By how many lines the window has moved: where most lines agree. A window in which nothing agrees is taken for one that
 * has moved on by all of its lines, so that nothing is lost.
 */
function scrolled(last: readonly string[], now: readonly string[]): number {
  let best = last.length;
  let most = 0;
  for (let by = 0; by < last.length; by++) {
    const overlap = Math.min(last.length - by, now.length);
    if (overlap <= most) break;
    let same = 0;
    for (let index = 0; index < overlap; index++) if (last[by + index] === now[index] && now[index] !== '') same++;
    if (same > most) [best, most] = [by, same];
  }
  return best;
}
