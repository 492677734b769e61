import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';

const MOUNT = '/sys/fs/cgroup';
const NAME = 'svc-sandbox-';
/** Where the service itself is below its group, which may have either processes or limits for others. */
const SERVICE = 'svc-service';
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

/** The kernel's files, as far as they are used. */
export type GroupFiles = Pick<typeof fs, 'mkdir' | 'readdir' | 'readFile' | 'rmdir' | 'stat' | 'writeFile'>;

/**
 * Groups of the kernel's (cgroups) that limit how many processes there are in each sandbox: the limit that other users have does not
 * count for root. A group goes some time after its last process.
 */
export class ProcessGroups {
  readonly #made: { readonly at: string; readonly since: number }[] = [];

  private constructor(
    private readonly parent: string,
    private readonly most: number,
    private readonly files: GroupFiles,
  ) {}

  /** Undefined where the service may make none, as in most containers. */
  static async tryOn(most: number, own?: string, files: GroupFiles = fs): Promise<ProcessGroups | undefined> {
    for (const parent of own === undefined ? await parents(files) : [own]) {
      const groups = new ProcessGroups(parent, most, files);
      try {
        const made = path.dirname(await groups.make());
        await removed(files, made);
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
      if (!(await removed(this.files, oldest.at))) this.#made.push({ at: oldest.at, since: Date.now() });
    }
    const at = path.join(this.parent, `${NAME}${randomUUID()}`);
    await this.files.mkdir(at);
    this.#made.push({ at, since: Date.now() });
    // A file that the kernel has not put there cannot be opened for this.
    await this.files.writeFile(path.join(at, 'pids.max'), String(this.most), { flag: 'r+' });
    return path.join(at, (await exists(this.files, path.join(at, ONE))) ? ONE : ALL);
  }

  /** What processes have left that are gone. */
  async #sweepOthers(): Promise<void> {
    for (const name of await this.files.readdir(this.parent)) {
      if (!name.startsWith(NAME)) continue;
      const at = path.join(this.parent, name);
      const found = await this.files.stat(at).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > YOUNG_MS) await removed(this.files, at);
    }
  }
}

/** Groups of this process below which others may be made: of the old kind, which has one tree for each limit, and of the new one. */
async function parents(files: GroupFiles): Promise<string[]> {
  const lines = String(await files.readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n');
  const found: string[] = [];
  for (const [id, limits = '', at] of lines.map((line) => line.split(':'))) {
    if (at === undefined) continue;
    if (limits.split(',').includes('pids')) found.push(path.join(MOUNT, limits, at));
    if (id !== '0' || limits !== '') continue;
    const own = path.join(MOUNT, path.basename(at) === SERVICE ? path.dirname(at) : at);
    // What cannot be had is found out by making one.
    await countBelow(files, own).catch(() => undefined);
    found.push(own);
  }
  return found;
}

/**
 * Has the kernel count processes in groups below this one. A group of the new kind cannot have processes of its own then: all that are
 * in it (those of this service, to which the group is delegated) go into one below.
 */
async function countBelow(files: GroupFiles, own: string): Promise<void> {
  const count = (): Promise<void> => files.writeFile(path.join(own, 'cgroup.subtree_control'), '+pids', { flag: 'r+' });
  try {
    return await count();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
  const below = path.join(own, SERVICE);
  await files.mkdir(below, { recursive: true });
  try {
    await moveAll(files, own, below);
    await count();
  } catch (error) {
    await moveAll(files, below, own).catch(() => undefined);
    await removed(files, below);
    throw error;
  }
}

async function moveAll(files: GroupFiles, from: string, to: string): Promise<void> {
  const pids = String(await files.readFile(path.join(from, ALL), 'utf8')).split('\n');
  for (const pid of pids.filter((line) => line !== ''))
    await files.writeFile(path.join(to, ALL), pid, { flag: 'r+' }).catch((error: NodeJS.ErrnoException) => {
      // It has ended meanwhile.
      if (error.code !== 'ESRCH') throw error;
    });
}

async function exists(files: GroupFiles, file: string): Promise<boolean> {
  return files.stat(file).then(
    () => true,
    () => false,
  );
}

async function removed(files: GroupFiles, group: string): Promise<boolean> {
  return files.rmdir(group).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
}
