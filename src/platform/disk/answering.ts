import { statfs } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../time/clock.js';
import { mountOf } from './mounts.js';

interface Asked {
  readonly at: number;
  readonly answer: Promise<void>;
  isOver: boolean;
}

/** Who has not answered for so long is silent. */
const SILENT_MS = 5_000;
/** So many silent ones keep a thread each (`POOL`). Beyond it no other is asked that may become one. */
const MOST_SILENT = 4;

/**
 * Whether file systems answer. One of another host may not, for as long as it likes, and keeps the thread of whoever asks: of these a process
 * has few, for files, names of hosts and sign-ins at the database. So each disk is asked once at a time, whoever wants to know.
 */
export class Answering {
  /** Replaced in tests. Any answer counts, also an error. It is asked where it is mounted: the way to a folder may lead over another disk. */
  ask = (mount: string): Promise<unknown> => statfs(mount);
  /** Replaced in tests. */
  mountOf = mountOf;
  /** Replaced in tests. */
  silentMs = SILENT_MS;
  /** By disk. */
  readonly #asked = new Map<string, Asked>();

  /** False when the disk of a folder has not answered for `ms`, counted from when it was asked: often at once. */
  async answers(folder: string, ms: number): Promise<boolean> {
    const asked = this.#ask(folder);
    if (asked === undefined) return false;
    const left = asked.at + ms - performance.now();
    // Nothing more hangs on an answer that may never come: many ask again and again.
    if (left <= 0) return this.#hasAnswered(asked);
    const late = new AbortController();
    return Promise.race([asked.answer.then(() => true), sleep(left, late.signal).then(() => this.#hasAnswered(asked))]).finally(() =>
      late.abort(),
    );
  }

  /** Once the time is over. Where this process was held up meanwhile, the answer is there and was not taken in. */
  async #hasAnswered(asked: Asked): Promise<boolean> {
    // What has come is taken in between two turns, and a promise that rests on others settles behind them.
    for (let turns = 0; turns < 2 && !asked.isOver; turns++) await setImmediate();
    return asked.isOver;
  }

  #ask(folder: string): Asked | undefined {
    const { at, disk, isRemote } = this.mountOf(folder);
    const known = this.#asked.get(disk);
    if (known !== undefined) return known;
    if (isRemote && this.#silent >= MOST_SILENT) return undefined;
    const over = (): void => {
      this.#asked.delete(disk);
      asked.isOver = true;
    };
    const asked: Asked = { at: performance.now(), answer: this.ask(at).then(over, over), isOver: false };
    this.#asked.set(disk, asked);
    return asked;
  }

  get #silent(): number {
    const now = performance.now();
    return [...this.#asked.values()].filter(({ at }) => now - at > this.silentMs).length;
  }
}

/** Those of this process: what one part of it waits for, no other asks. */
export const processAnswering = new Answering();
