import { watch, type FSWatcher } from 'chokidar';
import path from 'node:path';

/** Never configuration: what runs writes here all the time. `.gc/site.toml` is followed by its own path. */
const IGNORED = new Set(['.git', '.beads', 'node_modules']);
/** Directories that one city may have watched. */
const MAX_PATHS = 2_000;

/** Tells that something among the files of a city changed. Where the file system tells nothing it stays silent. */
export class FileWatch {
  #watcher: FSWatcher | undefined;
  #followed = new Set<string>();
  #dirty = true;

  constructor(private readonly root: string) {}

  /** True once after each change, and at the beginning. */
  take(): boolean {
    const dirty = this.#dirty;
    this.#dirty = false;
    return dirty;
  }

  /** Watches the directories of these paths, from now on; those that are gone are given up. */
  follow(paths: readonly string[]): void {
    const directories = new Set<string>([this.root]);
    for (const at of paths) {
      if (directories.size >= MAX_PATHS) break;
      const directory = path.dirname(at);
      if (!directory.split(path.sep).some((part) => IGNORED.has(part))) directories.add(directory);
    }
    const added = [...directories].filter((at) => !this.#followed.has(at));
    const gone = [...this.#followed].filter((at) => !directories.has(at));
    this.#followed = directories;
    if (this.#watcher === undefined) {
      this.#watcher = watch(added, {
        ignoreInitial: true,
        depth: 0,
        followSymlinks: false,
        ignored: (at) => path.basename(at).startsWith('.svc-'),
      });
      this.#watcher.on('all', () => (this.#dirty = true));
      // Watching is only the fast way: without it the checks find the change.
      this.#watcher.on('error', () => undefined);
    } else {
      if (added.length > 0) this.#watcher.add(added);
      if (gone.length > 0) this.#watcher.unwatch(gone);
    }
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
    this.#watcher = undefined;
  }
}
