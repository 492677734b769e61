import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

const MOUNT = '/sys/fs/cgroup';
const NAME = 'svc-sandbox-';
/** Younger ones may not have their first process yet. */
const YOUNG_MS = 60_000;
/** Looked at with each new one: so they go as fast as they come. */
const SWEPT = 4;

/**
 * Takes in one that has one thread, without a word to all others. Measured: 0.3 ms, where what takes whole processes in takes 15 ms, in
 * which the kernel waits for others. Only groups of the old kind have it.
 */
const ONE = 'tasks';
const ALL = 'cgroup.procs';

/**
 * Groups of the kernel's (cgroups) that limit how many processes there are in each sandbox: the limit that other users have does not
 * count for root. A group goes some time after its last process.
 */
export class ProcessGroups {
  readonly #made: { readonly at: string; readonly since: number }[] = [];

  private constructor(
    private readonly parent: string,
    private readonly most: number,
  ) {}

  /** Undefined where the service may make none, as in most containers. */
  static async tryOn(most: number, own?: string): Promise<ProcessGroups | undefined> {
    for (const parent of own === undefined ? await parents() : [own]) {
      const groups = new ProcessGroups(parent, most);
      try {
        const made = path.dirname(await groups.make());
        await removed(made);
        groups.#made.pop();
        await groups.#sweepOthers();
        return groups;
      } catch {
        // There it cannot be.
      }
    }
    return undefined;
  }

  /** Makes a group; the answer is the file into which a process writes 0 to be in it, with all that it starts. */
  async make(): Promise<string> {
    for (let n = 0; n < SWEPT && this.#made.length > 0 && Date.now() - this.#made[0]!.since > YOUNG_MS; n++) {
      const oldest = this.#made.shift()!;
      if (!(await removed(oldest.at))) this.#made.push({ at: oldest.at, since: Date.now() });
    }
    const at = path.join(this.parent, `${NAME}${randomUUID()}`);
    await mkdir(at);
    this.#made.push({ at, since: Date.now() });
    // A file that the kernel has not put there cannot be opened for this.
    await writeFile(path.join(at, 'pids.max'), String(this.most), { flag: 'r+' });
    return path.join(at, (await exists(path.join(at, ONE))) ? ONE : ALL);
  }

  /** What processes have left that are gone. */
  async #sweepOthers(): Promise<void> {
    for (const name of await readdir(this.parent)) {
      if (!name.startsWith(NAME)) continue;
      const at = path.join(this.parent, name);
      const found = await stat(at).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > YOUNG_MS) await removed(at);
    }
  }
}

/** Groups of this process below which others may be made: of the old kind, which has one tree for each limit, and of the new one. */
async function parents(): Promise<string[]> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const found: string[] = [];
  for (const [id, limits = '', at] of lines) {
    if (at === undefined) continue;
    if (limits.split(',').includes('pids')) found.push(path.join(MOUNT, limits, at));
    if (id !== '0' || limits !== '') continue;
    const own = path.join(MOUNT, at);
    // It may count already, or cannot while there are processes in it.
    await writeFile(path.join(own, 'cgroup.subtree_control'), '+pids', { flag: 'r+' }).catch(() => undefined);
    found.push(own);
  }
  return found;
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function removed(group: string): Promise<boolean> {
  return rmdir(group).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
}
