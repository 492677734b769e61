import type { FileTree } from '../trees/file-tree.js';

/** An import as a file asks for it. */
export interface ImportRequest {
  /** A path (`packs/desk`), a repository (`https://host/repo.git//sub`), or `builtin:<name>`. */
  readonly source: string;
  /** A constraint (`^1.2`, `sha:<hex>`); absent means whatever the lock says. */
  readonly version: string | undefined;
  /** The tree of the file that imports, and the directory in it that a relative source counts from. */
  readonly from: FileTree;
  readonly folder: string;
}

export interface FoundPack {
  /** Equal for equal content sources: tells a diamond from two packs. */
  readonly id: string;
  /** Its files; `label` is the id. */
  readonly tree: FileTree;
  /** The directory of the pack inside `tree`; '' for its root. */
  readonly folder: string;
  /** The pinned version and commit of a repository. */
  readonly version: string | undefined;
  readonly commit: string | undefined;
}

/** Where composing finds imported packs. It never fetches: what is not there is a problem that names the remedy. */
export interface PackStore {
  /** The pack, or why there is none, in words for the owner of the files. */
  find(request: ImportRequest): Promise<FoundPack | { readonly missing: string }>;
}
