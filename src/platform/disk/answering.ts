import { readFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../time/clock.js';

interface Asked {
  readonly at: number;
  readonly answer: Promise<void>;
  isOver: boolean;
}

/** For so long the list of mounts is taken as it was. */
const MOUNTS_MS = 1_000;

/**
 * Whether file systems answer. One of another host may not, for as long as it likes, and keeps the thread of whoever asks: of these a process
 * has few, for files, names of hosts and sign-ins at the database. So each file system is asked once at a time, whoever wants to know.
 */
export class Answering {
  /** Replaced in tests. Any answer counts, also that nothing is there. */
  ask = (folder: string): Promise<unknown> => lstat(folder);
  /** Replaced in tests. */
  mountOf = mountOf;
  readonly #asked = new Map<string, Asked>();

  /** False when the file system of a folder has not answered for `ms`, counted from when it was asked: often at once. */
  async answers(folder: string, ms: number): Promise<boolean> {
    const asked = this.#ask(folder);
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

  #ask(folder: string): Asked {
    const mount = this.mountOf(folder);
    const known = this.#asked.get(mount);
    if (known !== undefined) return known;
    const over = (): void => {
      this.#asked.delete(mount);
      asked.isOver = true;
    };
    const asked: Asked = { at: performance.now(), answer: this.ask(folder).then(over, over), isOver: false };
    this.#asked.set(mount, asked);
    return asked;
  }
}

/** Those of this process: what one part of it waits for, no other asks. */
export const processAnswering = new Answering();

let mounts: readonly string[] = [];
let mountsAt = -Infinity;

/** Where the file system of a folder is mounted, without asking that; the folder itself where the system does not tell. */
export function mountOf(folder: string): string {
  if (performance.now() - mountsAt > MOUNTS_MS) {
    mounts = mountsNow();
    mountsAt = performance.now();
  }
  let found: string | undefined;
  for (const at of mounts) {
    const isIn = folder === at || folder.startsWith(at.endsWith('/') ? at : `${at}/`);
    if (isIn && (found === undefined || at.length > found.length)) found = at;
  }
  return found ?? folder;
}

function mountsNow(): string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'latin1').split('\n');
    return lines.flatMap((line) => line.split(' ')[4] ?? []).map(unescaped);
  } catch {
    return [];
  }
}

/** Blanks and the like are written as three octal digits. */
function unescaped(text: string): string {
  const bytes = text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, 'latin1').toString();
}
