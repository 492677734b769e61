/** What a repository's pack is pinned to. */
export interface LockedPack {
  /** Without `v`; absent when a commit was asked for. */
  readonly version?: string;
  /** In full: 40 or 64 hexadecimal digits. */
  readonly commit: string;
  /** RFC 3339, UTC. */
  readonly fetched: string;
}

/** The content of `packs.lock`: pins by `RepositorySource.id`. */
export type Lock = ReadonlyMap<string, LockedPack>;
