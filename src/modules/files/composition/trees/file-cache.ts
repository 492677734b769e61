import { mountOf } from '../../../../platform/disk/mounts.js';
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
/** Of names and paths of folders, and what each entry takes beside its name. */
const MAX_FOLDER_CHARACTERS = 8 * 1024 * 1024;
const ENTRY_CHARACTERS = 64;

/** Contents by absolute path, bounded in number and in text; what was used last stays. So do lists of what small folders hold. One a process. */
export class FileCache {
  readonly #known = new Map<string, KnownFile>();
  readonly #folders = new Map<string, KnownFolder>();
  #characters = 0;
  #folderCharacters = 0;
  /** Replaced in tests. */
  isRemote = (at: string): boolean => mountOf(at).isRemote;

  constructor(
    private readonly maxFiles = MAX_FILES,
    private readonly maxCharacters = MAX_CHARACTERS,
    private readonly maxFolders = MAX_FOLDERS,
    private readonly maxFolderCharacters = MAX_FOLDER_CHARACTERS,
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

  /**
   * What was known of a folder last, whatever it holds by now: whoever has it has to compare the stamp. On a network disk nothing is: its stamp
   * may be one that this machine keeps in mind while others have changed the folder.
   */
  folder(at: string): KnownFolder | undefined {
    return this.isRemote(at) ? undefined : this.#folders.get(at);
  }

  setFolder(at: string, known: KnownFolder): void {
    this.#dropFolder(at);
    if (known.entries.length > MAX_ENTRIES || this.isRemote(at)) return;
    this.#folders.set(at, known);
    this.#folderCharacters += charactersOf(at, known);
    for (const oldest of this.#folders.keys()) {
      if (this.#folders.size <= this.maxFolders && this.#folderCharacters <= this.maxFolderCharacters) return;
      this.#dropFolder(oldest);
    }
  }

  #dropFolder(at: string): void {
    const known = this.#folders.get(at);
    if (known === undefined) return;
    this.#folderCharacters -= charactersOf(at, known);
    this.#folders.delete(at);
  }

  #drop(at: string): void {
    this.#characters -= this.#known.get(at)?.text?.length ?? 0;
    this.#known.delete(at);
  }
}

function charactersOf(at: string, { entries }: KnownFolder): number {
  return entries.reduce((sum, { name }) => sum + name.length + ENTRY_CHARACTERS, at.length);
}

export const processCache = new FileCache();
