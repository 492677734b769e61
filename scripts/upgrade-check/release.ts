import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/**
 * A release is the commit that gives CHANGELOG.md its heading; the tag `vX.Y.Z` names it. A clone without tags, and a history that was
 * copied, know it all the same. What lies here is compared with the newest one before it: that is what still runs while an upgrade goes on.
 */
export interface Release {
  readonly version: string;
  readonly commit: string;
  /** Names of files. */
  readonly migrations: readonly string[];
}

const CHANGELOG = 'CHANGELOG.md';
const MIGRATIONS = 'db/migrations/';

export class History {
  constructor(private readonly root: string) {}

  /** @throws where git refuses */
  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28 });
  }

  /** Undefined before the second release, unless there are migrations since the first one. */
  previousRelease(): Release | undefined {
    const head = this.git('rev-parse', 'HEAD').trim();
    const present = readdirSync(`${this.root}${MIGRATIONS}`);
    for (const version of releasesIn(this.#changelog())) {
      const commit = this.#commitOf(version);
      const migrations = this.git('ls-tree', '--name-only', commit, MIGRATIONS)
        .split('\n')
        .filter(Boolean)
        .map((file) => file.slice(MIGRATIONS.length));
      if (commit !== head || present.some((file) => !migrations.includes(file))) return { version, commit, migrations };
    }
    return undefined;
  }

  #changelog(): string {
    try {
      return this.git('show', `HEAD:${CHANGELOG}`);
    } catch {
      return ''; // There is none before the first release.
    }
  }

  #commitOf(version: string): string {
    try {
      return this.git('rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`).trim();
    } catch {
      const commits = this.git('log', '--format=%H', `-S## [${version}]`, '--', CHANGELOG).trim().split('\n');
      const first = commits.at(-1)!;
      if (first === '') throw new Error(`the history here does not reach back to ${version}: it is not known what would run beside this`);
      return first;
    }
  }
}

/** Versions that a changelog has, the newest first. */
export function releasesIn(changelog: string): string[] {
  return [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, version]) => version!);
}
