import { mkdir, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { covers } from './mounts.js';
import { closedFor } from './reach.js';
import { close, pass } from './shared-folders.js';
import type { Users } from './users.js';

/** Of files that change again and again, one change may not be seen by the time of another. Milliseconds. */
const UNSURE_MS = 2_000;

/** A process has one: the first way that is opened closes it, the last one that is left puts it back, in whatever order they end. */
const umask = { ways: 0, before: 0 };

/** The way of users of sessions to their cities: they can go through the folders above them, and look into none. */
export class CityWay {
  #seen = 0;

  private constructor(private readonly citiesRoot: string) {}

  /**
   * What this process makes from now on is closed for others.
   *
   * @throws Error when a folder that is not the service's is in the way
   */
  static async open({ dataDir, citiesRoot }: { readonly dataDir: string; readonly citiesRoot: string }, users: Users): Promise<CityWay> {
    await Promise.all([dataDir, citiesRoot].map((at) => mkdir(at, { recursive: true })));
    const [root, data] = await Promise.all([citiesRoot, dataDir].map((at) => realpath(at)));
    await pass(root!);
    if (covers(data!, root!)) for (let at = root!; at !== data!; at = path.dirname(at)) await pass(path.dirname(at));
    const closed = await closedFor(root!, users.identityOf(0, 0));
    if (closed !== undefined) throw new Error(`${closed}, on the way to the cities, is closed for other users: chmod o+x it`);
    const before = process.umask(0o027);
    if (umask.ways++ === 0) umask.before = before;
    const way = new CityWay(root!);
    await way.closeCities().catch((error: unknown) => {
      way.leave();
      throw error;
    });
    return way;
  }

  /** Costs one look where no folder has come or gone. */
  async closeCities(): Promise<void> {
    const { mtimeMs } = await stat(this.citiesRoot);
    if (mtimeMs === this.#seen) return;
    for (const entry of await readdir(this.citiesRoot, { withFileTypes: true }))
      if (entry.isDirectory()) await close(path.join(this.citiesRoot, entry.name));
    this.#seen = Date.now() - mtimeMs > UNSURE_MS ? mtimeMs : 0;
  }

  leave(): void {
    if (--umask.ways === 0) process.umask(umask.before);
  }
}
