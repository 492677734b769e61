/** What is wrong with a path, in words for the owner of the files: too large, leads outside, unreadable. */
export class TreeFailure extends Error {
  constructor(
    /** Relative to the tree. */
    readonly path: string,
    message: string,
    /** `true` when another try may succeed without a change of the files. */
    readonly transient = false,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'TreeFailure';
  }
}

export interface TreeEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory';
}

/** How much may still be digested: several readings may share it. Below zero there was more than that. */
export interface Allowance {
  files: number;
  bytes: number;
}

/**
 * The files below one directory: a city's or a pack's. Paths are relative, with `/`, and may not leave it. An
 * implementation keeps account of what was read, so that a change of any of it can be noticed.
 */
export interface FileTree {
  /** How issues name its files: '' for the city itself, else the prefix of `<prefix>:<path>`. */
  readonly label: string;
  /** The text of a file; undefined when there is none. @throws TreeFailure */
  read(path: string): Promise<string | undefined>;
  /** Names in a directory, sorted by byte; empty when there is none. Names beginning with `.` or `_` are left out. @throws TreeFailure */
  list(path: string): Promise<readonly TreeEntry[]>;
  /**
   * Every file below a directory with the SHA-256 of its content, sorted by path; empty when there is none.
   * @param allowance is used up by what is found.
   * @throws TreeFailure
   */
  digests(path: string, allowance?: Allowance): Promise<readonly (readonly [path: string, sha256: string])[]>;
}

/** How an issue names a file of a tree. */
export function fileName(tree: Pick<FileTree, 'label'>, path: string): string {
  return tree.label === '' ? path : `${tree.label}:${path}`;
}
