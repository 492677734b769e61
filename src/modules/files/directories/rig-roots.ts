import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isBelow } from '../composition/trees/paths.js';

/** What the configuration says of where rigs may lie. */
export interface RigRootsConfig {
  readonly citiesRoot: string;
  /** Directories of the operator's; none unless given. */
  readonly allowedPaths?: readonly string[];
}

interface Root {
  /** As it is configured, which may be a link. */
  readonly spelled: string;
  readonly real: string;
}

/** Where rigs may lie: below the cities root, and at or below the directories that the operator allows beside it. Of these, those that are there. */
export class RigRoots {
  private constructor(
    private readonly cities: Root,
    private readonly allowed: readonly Root[],
  ) {}

  static async of({ citiesRoot, allowedPaths = [] }: RigRootsConfig): Promise<RigRoots> {
    const allowed = await Promise.all(allowedPaths.map((at) => rootAt(at)));
    const spelled = path.resolve(citiesRoot);
    return new RigRoots(
      (await rootAt(spelled)) ?? { spelled, real: spelled },
      allowed.filter((root) => root !== undefined),
    );
  }

  /** A path with the real spelling of its root in place of the configured one. */
  respelled(written: string): string {
    if (this.of(written) !== undefined) return written;
    const root = [this.cities, ...this.allowed].find(({ spelled }) => written === spelled || isBelow(spelled, written));
    return root === undefined ? written : path.join(root.real, path.relative(root.spelled, written));
  }

  /** The root that a real path lies in. The cities root is no rig, and a directory that is allowed may be one. */
  of(at: string): string | undefined {
    if (at === this.cities.real) return undefined;
    if (isBelow(this.cities.real, at)) return this.cities.real;
    return this.allowed.find(({ real }) => at === real || isBelow(real, at))?.real;
  }

  /** Whether a real path is a root, or lies in one. */
  covers(at: string): boolean {
    return at === this.cities.real || this.of(at) !== undefined;
  }

  /** Whether a real path lies where only the operator has put something. */
  isBeyond(at: string): boolean {
    return at !== this.cities.real && !isBelow(this.cities.real, at);
  }
}

async function rootAt(spelled: string): Promise<Root | undefined> {
  const real = await realpath(spelled).catch(() => undefined);
  return real === undefined ? undefined : { spelled, real };
}
