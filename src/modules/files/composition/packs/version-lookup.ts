import type { Git } from '../../../../platform/git/git.js';
import { fileRepository, type IsOthers } from './checkout-store.js';
import type { LockedPack } from './lock.js';
import { PackFailure, packFailure } from './pack-failure.js';
import type { RepositorySource } from './sources.js';
import {
  allow,
  defaultConstraint,
  highest,
  InvalidConstraint,
  parseConstraint,
  pinnedCommit,
  versionOfTag,
  versionsAmong,
  type Constraint,
  type VersionTag,
} from './versions.js';

const WHOLE = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export type Pin = Pick<LockedPack, 'version' | 'commit'>;

interface Listing {
  /** The newest first. */
  readonly tags: readonly VersionTag[];
  readonly refs: ReadonlyMap<string, string>;
}

/** Which commit imports mean. A repository is asked once a lookup. */
export class VersionLookup {
  readonly #listings = new Map<string, Promise<Listing>>();
  /** By their texts: those of a repository are looked at again with each import of it. */
  readonly #constraints = new Map<string, Constraint>();

  constructor(
    private readonly git: Git,
    private readonly citiesRoot: string,
    private readonly signal: AbortSignal,
    private readonly isOthers?: IsOthers,
  ) {}

  /**
   * The newest pin that all constraints allow; what was pinned before stays when it still may.
   *
   * @throws PackFailure
   */
  async pin(source: RepositorySource, versions: readonly string[], before: Pin | undefined): Promise<Pin> {
    try {
      const constraints = versions.map((text) => this.#constraint(text));
      if (source.ref !== undefined && constraints.length > 0)
        throw new InvalidConstraint('it names a branch, tag or commit with "#" and a version as well');
      const commit = pinnedCommit(constraints);
      if (before !== undefined && allow(constraints, before)) return before;
      if (source.ref !== undefined) return await this.#ofRef(source, source.ref);
      if (commit !== undefined) return await this.#ofCommit(source, commit, constraints);
      const { tags, refs } = await this.#listing(source);
      const chosen = highest(tags, constraints);
      if (chosen !== undefined) return pinOf(chosen);
      const head = refs.get('HEAD');
      if (constraints.length === 0 && head !== undefined) return { commit: head };
      throw new InvalidConstraint(
        tags.length === 0 ? 'the repository has no version tags' : 'the repository has no version that is allowed',
      );
    } catch (error) {
      if (!(error instanceof InvalidConstraint)) throw error;
      throw new PackFailure('invalid_constraint', `${source.id}: ${error.message}`, { source, cause: error });
    }
  }

  /** The constraint that an import without one gets. @throws PackFailure */
  async defaultConstraint(source: RepositorySource): Promise<string> {
    const { tags, refs } = await this.#listing(source);
    const head = refs.get('HEAD');
    if (tags.length === 0 && head === undefined)
      throw new PackFailure('lookup_failed', `${source.id}: the repository is empty`, { source });
    return defaultConstraint(tags, head ?? '');
  }

  async #ofRef(source: RepositorySource, ref: string): Promise<Pin> {
    const { refs } = await this.#listing(source);
    const commit = refs.get(`refs/tags/${ref}`) ?? refs.get(`refs/heads/${ref}`) ?? (WHOLE.test(ref) ? ref : undefined);
    if (commit === undefined) throw new PackFailure('lookup_failed', `${source.id}: there is no such branch or tag`, { source });
    const version = versionOfTag(ref);
    return version === undefined ? { commit } : { version, commit };
  }

  async #ofCommit(source: RepositorySource, hex: string, constraints: readonly Constraint[]): Promise<Pin> {
    const ranges = constraints.filter(({ kind }) => kind === 'range');
    if (WHOLE.test(hex) && ranges.length === 0) return { commit: hex };
    const { tags, refs } = await this.#listing(source);
    const matching = new Set([...refs.values(), ...(WHOLE.test(hex) ? [hex] : [])].filter((commit) => commit.startsWith(hex)));
    const [commit, another] = matching;
    if (commit === undefined || another !== undefined)
      throw new InvalidConstraint('the commit is not at the end of a branch or a version tag: write its whole id');
    const tagged = highest(
      tags.filter((tag) => tag.commit === commit),
      ranges,
    );
    if (ranges.length > 0 && tagged === undefined)
      throw new InvalidConstraint('one import pins a commit that is none of the versions that another one allows');
    return tagged === undefined ? { commit } : pinOf(tagged);
  }

  /** @throws InvalidConstraint */
  #constraint(text: string): Constraint {
    const known = this.#constraints.get(text) ?? parseConstraint(text);
    this.#constraints.set(text, known);
    return known;
  }

  #listing(source: RepositorySource): Promise<Listing> {
    const key = `${source.url}#${source.ref ?? ''}`;
    const known = this.#listings.get(key);
    if (known !== undefined) return known;
    const listing = this.#list(source);
    this.#listings.set(key, listing);
    return listing;
  }

  async #list(source: RepositorySource): Promise<Listing> {
    const { ref } = source;
    // Who names a branch or a tag gets that, whatever versions there are.
    const patterns =
      ref === undefined ? ['HEAD', 'refs/tags/v*', 'refs/heads/*'] : [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/tags/${ref}^{}`];
    try {
      const refs = await this.git.list(await this.#remote(source), patterns, this.signal);
      return { tags: versionsAmong(refs), refs };
    } catch (error) {
      throw packFailure(error, source, 'lookup_failed');
    }
  }

  async #remote(source: RepositorySource): Promise<RepositorySource> {
    if (source.transport !== 'file') return source;
    return { ...source, url: `file://${await fileRepository(source, this.citiesRoot, this.isOthers)}` };
  }
}

const pinOf = ({ version, commit }: VersionTag): Pin => ({ version, commit });
