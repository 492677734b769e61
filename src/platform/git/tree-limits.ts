import { GitFailure } from './git-failure.js';

const ENTRY = /^(\d{6}) \w+ [0-9a-f]+ +(\d+|-)\t(.*)$/s;
const MAX_DEPTH = 32;
/** Longer than any system takes a path. */
const MAX_ENTRY = 64 * 1024;

/** Refuses a commit whose files would not fit, before any of them is written. */
export class TreeCheck {
  #files = 0;
  #bytes = 0;
  /** Of the entry that has not ended yet. */
  #rest = '';

  constructor(private readonly limits: { readonly bytes: number; readonly files: number }) {}

  /** Takes in a part of what `ls-tree -r -l -z` prints, wherever it ends. @throws GitFailure too_large */
  add(part: Buffer): void {
    const entries = (this.#rest + part.toString('latin1')).split('\0');
    this.#rest = entries.pop()!;
    for (const entry of entries) this.#count(entry);
    if (this.#rest.length > MAX_ENTRY) throw new GitFailure('too_large', `the repository has a path of more than ${MAX_ENTRY} bytes`);
  }

  #count(entry: string): void {
    const [, , size, name] = ENTRY.exec(entry) ?? [];
    if (size === undefined || name === undefined) return;
    const { files, bytes } = this.limits;
    this.#bytes += size === '-' ? 0 : Number(size);
    if (++this.#files > files) throw new GitFailure('too_large', `the repository holds more than ${files} files`);
    if (this.#bytes > bytes) throw new GitFailure('too_large', `the repository is larger than ${bytes / (1024 * 1024)} MiB`);
    if (name.split('/').length > MAX_DEPTH) throw new GitFailure('too_large', `the repository is more than ${MAX_DEPTH} directories deep`);
  }
}
