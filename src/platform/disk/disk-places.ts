import { Line } from '../collections/line.js';
import { mountOf } from './answering.js';

/** Fewer than the process has threads (`POOL`): names of hosts and sign-ins at the database need some, and so does asking disks whether they answer. */
const PLACES = 24;

/**
 * How many calls for files of cities are under way. One to a file system that does not answer keeps its thread, however many are waiting
 * behind it. So a file system may have no more than what it leaves free for two others: 8 alone, then 6, 4, 2, 2, 1, 1.
 */
export class DiskPlaces {
  /** Replaced in tests. */
  mountOf = mountOf;
  /** Calls under way, by file system. */
  readonly #held = new Map<string, number>();
  /** Those that wait, by file system, in the order of their turns. */
  readonly #waiting = new Map<string, Line<() => void>>();
  #taken = 0;

  /** Does something that keeps one thread at the most, for a file. It must not wait for another place. */
  async run<T>(file: string, work: () => Promise<T>): Promise<T> {
    const mount = this.mountOf(file);
    if (this.#admits(mount)) this.#take(mount);
    else await new Promise<void>((granted) => this.#wait(mount, granted));
    try {
      return await work();
    } finally {
      this.#leave(mount);
    }
  }

  #admits(mount: string): boolean {
    return (this.#held.get(mount) ?? 0) < Math.ceil((PLACES - this.#taken) / 2);
  }

  #take(mount: string): void {
    this.#taken++;
    this.#held.set(mount, (this.#held.get(mount) ?? 0) + 1);
  }

  #wait(mount: string, granted: () => void): void {
    const line = this.#waiting.get(mount) ?? new Line();
    line.push(granted);
    this.#waiting.set(mount, line);
  }

  #leave(mount: string): void {
    this.#taken--;
    const left = this.#held.get(mount)! - 1;
    if (left === 0) this.#held.delete(mount);
    else this.#held.set(mount, left);
    for (const [next, line] of this.#waiting) {
      if (!this.#admits(next)) continue;
      // Whoever is served goes to the end.
      this.#waiting.delete(next);
      if (line.size > 1) this.#waiting.set(next, line);
      this.#take(next);
      line.shift()!();
    }
  }
}

/** Those of this process. */
export const processPlaces = new DiskPlaces();
