import { Line } from '../collections/line.js';
import { diskOf, mountOf } from './mounts.js';

/** Fewer than the process has threads (`POOL`): names of hosts and sign-ins at the database need some, and so does asking disks whether they answer. */
const PLACES = 24;

/**
 * How many calls for files of cities are under way. One to a disk that does not answer keeps its thread, however many are waiting
 * behind it. So a disk may have no more than what it leaves free for two others: 8 alone, then 6, 4, 2, 2, 1, 1.
 */
export class DiskPlaces {
  /** Replaced in tests. */
  diskOf = diskOf;
  /** Whether a file may be looked at without a thread. Replaced in tests. */
  isAtHand = (file: string): boolean => mountOf(file).isLocal;
  /** Calls under way, by disk. */
  readonly #held = new Map<string, number>();
  /** Those that wait, by disk, in the order of their turns. */
  readonly #waiting = new Map<string, Line<() => void>>();
  #taken = 0;

  /** Does something that keeps one thread at the most, for a file. It must not wait for another place. */
  async run<T>(file: string, work: () => Promise<T>): Promise<T> {
    const disk = this.diskOf(file);
    if (this.#admits(disk)) this.#take(disk);
    else await new Promise<void>((granted) => this.#wait(disk, granted));
    try {
      return await work();
    } finally {
      this.#leave(disk);
    }
  }

  #admits(disk: string): boolean {
    return (this.#held.get(disk) ?? 0) < Math.ceil((PLACES - this.#taken) / 2);
  }

  #take(disk: string): void {
    this.#taken++;
    this.#held.set(disk, (this.#held.get(disk) ?? 0) + 1);
  }

  #wait(disk: string, granted: () => void): void {
    const line = this.#waiting.get(disk) ?? new Line();
    line.push(granted);
    this.#waiting.set(disk, line);
  }

  #leave(disk: string): void {
    this.#taken--;
    const left = this.#held.get(disk)! - 1;
    if (left === 0) this.#held.delete(disk);
    else this.#held.set(disk, left);
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
