import type { DiskEntry } from './directory-entries.js';

/** What was found out about a file in a state that its stamp identifies. */
export interface KnownFile {
  readonly stamp: string;
  readonly sha256: string;
  /** Absent when only the digest was asked for. */
  readonly text?: string;
}

/** What a directory held in such a state. */
export interface KnownFolder {
  readonly stamp: string;
  readonly entries: readonly DiskEntry[];
}

const MAX_FILES = 50_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
const MAX_FOLDERS = 10_000;
/** Of most folders: what holds more is listed each time. */
const MAX_ENTRIES = 50;

/** Contents by absolute path, bounded in number and in text; what was used last stays. So do lists of what small folders hold. One a process. */
export class FileCache {
  readonly #known = new Map<string, KnownFile>();
  readonly #folders = new Map<string, KnownFolder>();
  #characters = 0;

  constructor(
    private readonly maxFiles = MAX_FILES,
    private readonly maxCharacters = MAX_CHARACTERS,
    private readonly maxFolders = MAX_FOLDERS,
  ) {}

  get(at: string, stamp: string): KnownFile | undefined {
    const known = this.#known.get(at);
    if (known?.stamp !== stamp) return undefined;
    this.#known.delete(at);
    this.#known.set(at, known);
    return known;
  }

  set(at: string, known: KnownFile): void {
    this.#drop(at);
    this.#known.set(at, known);
    this.#characters += known.text?.length ?? 0;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.maxFiles && this.#characters <= this.maxCharacters) return;
      this.#drop(oldest);
    }
  }

  /** What was known of a folder last, whatever it holds by now: whoever has it has to compare the stamp. */
  folder(at: string): KnownFolder | undefined {
    return this.#folders.get(at);
  }

  setFolder(at: string, known: KnownFolder): void {
    this.#folders.delete(at);
    if (known.entries.length > MAX_ENTRIES) return;
    this.#folders.set(at, known);
    if (this.#folders.size > this.maxFolders) this.#folders.delete(this.#folders.keys().next().value!);
  }

  #drop(at: string): void {
    this.#characters -= this.#known.get(at)?.text?.length ?? 0;
    this.#known.delete(at);
  }
}

export const processCache = new FileCache();
