/** What was found out about a file in a state that its stamp identifies. */
export interface KnownFile {
  readonly stamp: string;
  readonly sha256: string;
  /** Absent when only the digest was asked for. */
  readonly text?: string;
}

const MAX_FILES = 50_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** Contents by absolute path, bounded in number and in text; what was used last stays. One a process. */
export class FileCache {
  readonly #known = new Map<string, KnownFile>();
  #characters = 0;

  constructor(
    private readonly maxFiles = MAX_FILES,
    private readonly maxCharacters = MAX_CHARACTERS,
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

  #drop(at: string): void {
    this.#characters -= this.#known.get(at)?.text?.length ?? 0;
    this.#known.delete(at);
  }
}

export const processCache = new FileCache();
