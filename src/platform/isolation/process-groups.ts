import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';

const MOUNT = '/sys/fs/cgroup';
const NAME = 'svc-sandbox-';
/** Where the service itself is below its group, which may have either processes or limits for others. */
const SERVICE = 'svc-service';
/** Of somebody who has logged in, and has other things in it: whoever starts a server by hand does not want his shell moved. */
const LOGIN = /\/session-[^/]*\.scope$/;
/** Younger ones may not have their first process yet. */
const YOUNG_MS = 60_000;
/** Looked at with each new one: so they go as fast as they come. */
const SWEPT = 4;
/** Groups that are gone, of which it is known that they had too much. */
const REMEMBERED = 1_000;
/** Programs may start others while they are moved. */
const MOVES = 5;

/**
 * Takes in one that has one thread, without a word to all others. Measured: 0.3 ms, where what takes whole processes in takes 15 ms, in
 * which the kernel waits for others. Only groups of the old kind have it.
 */
const ONE = 'tasks';
const ALL = 'cgroup.procs';
/** Of the service's 100: what agents run must not keep it from renewing its leases. As much as `nice -n 5` is worth. */
const WEIGHT = 33;
const PERIOD_US = 100_000;

/** What groups can limit, by the kernel's names. */
export type Counted = 'pids' | 'memory' | 'cpu';

/** Of one sandbox: processes, bytes, and processors as long as others want them too, or at the most. */
export interface GroupLimits {
  readonly processes: number;
  readonly memory: number;
  readonly cpus?: number | undefined;
}

/** A group of one sandbox. */
export interface ProcessGroup {
  /** Into which a process writes 0 to be in the group, with all that it starts. */
  readonly file: string;
  /** Whether the kernel has ended something of it for want of memory. */
  ranOutOfMemory(): Promise<boolean>;
}

/** The kernel's files, as far as they are used. */
export type GroupFiles = Pick<typeof fs, 'mkdir' | 'readdir' | 'readFile' | 'rmdir' | 'stat' | 'writeFile'>;

/**
 * Groups of the kernel's (cgroups) that limit what all processes of a sandbox have together: limits of a single process (rlimits) know
 * nothing of the others, and that of a user's processes does not count for root. A group goes some time after its last process.
 */
export class ProcessGroups {
  readonly #made: { readonly at: string; readonly since: number }[] = [];
  readonly #starved = new Set<string>();

  private constructor(
    private readonly parent: string,
    /** What they limit here. */
    readonly counted: ReadonlySet<Counted>,
    private readonly limits: GroupLimits,
    private readonly files: GroupFiles,
    private readonly now: () => number,
  ) {}

  /** Undefined where the service may make none, as in most containers. */
  static async tryOn(limits: GroupLimits, own?: string, files: GroupFiles = fs, now = Date.now): Promise<ProcessGroups | undefined> {
    for (const { at, counted } of own === undefined ? await parents(files) : [{ at: own, counted: new Set<Counted>(['pids']) }]) {
      const groups = new ProcessGroups(at, counted, limits, files, now);
      try {
        const made = path.dirname((await groups.make()).file);
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

  async make(): Promise<ProcessGroup> {
    for (let n = 0; n < SWEPT && this.#made.length > 0 && this.now() - this.#made[0]!.since > YOUNG_MS; n++) {
      const oldest = this.#made.shift()!;
      if (!(await this.#removed(oldest.at))) this.#made.push({ at: oldest.at, since: this.now() });
    }
    const at = path.join(this.parent, `${NAME}${randomUUID()}`);
    await this.files.mkdir(at);
    this.#made.push({ at, since: this.now() });
    // A file that the kernel has not put there cannot be opened for this.
    const set = (file: string, text: string): Promise<void> => this.files.writeFile(path.join(at, file), text, { flag: 'r+' });
    const { processes, memory, cpus } = this.limits;
    if (this.counted.has('pids')) await set('pids.max', String(processes));
    if (this.counted.has('memory')) {
      await set('memory.max', String(memory));
      // What is left of an agent of which a part is gone is nobody's friend. Kernels and hosts without swap know not all of these.
      await set('memory.oom.group', '1').catch(() => undefined);
      await set('memory.swap.max', '0').catch(() => undefined);
    }
    if (this.counted.has('cpu')) {
      await set('cpu.weight', String(WEIGHT));
      if (cpus !== undefined) await set('cpu.max', `${Math.round(cpus * PERIOD_US)} ${PERIOD_US}`);
    }
    const file = path.join(at, (await exists(this.files, path.join(at, ONE))) ? ONE : ALL);
    return { file, ranOutOfMemory: async () => this.#starved.has(at) || (await this.#isStarved(at)) };
  }

  /** Removes one that is empty; what has happened in it stays known. */
  async #removed(at: string): Promise<boolean> {
    const starved = await this.#isStarved(at);
    if (!(await removed(this.files, at))) return false;
    if (starved) this.#starved.add(at);
    if (this.#starved.size > REMEMBERED) this.#starved.delete(this.#starved.values().next().value!);
    return true;
  }

  async #isStarved(at: string): Promise<boolean> {
    if (!this.counted.has('memory')) return false;
    const events = await this.files.readFile(path.join(at, 'memory.events'), 'utf8').catch(() => '');
    return /^oom_kill [1-9]/m.test(String(events));
  }

  /** What processes have left that are gone. */
  async #sweepOthers(): Promise<void> {
    for (const name of await this.files.readdir(this.parent)) {
      if (!name.startsWith(NAME)) continue;
      const at = path.join(this.parent, name);
      const found = await this.files.stat(at).catch(() => undefined);
      if (found !== undefined && this.now() - found.mtimeMs > YOUNG_MS) await removed(this.files, at);
    }
  }
}

interface Parent {
  readonly at: string;
  readonly counted: ReadonlySet<Counted>;
}

/**
 * Groups of this process below which others may be made: of the new kind, and of the old one, which has one tree for each limit. Those that
 * limit most come first.
 */
async function parents(files: GroupFiles): Promise<Parent[]> {
  const lines = String(await files.readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n');
  const found: Parent[] = [];
  for (const [id, limits = '', at] of lines.map((line) => line.split(':'))) {
    if (at === undefined) continue;
    if (limits.split(',').includes('pids')) found.push({ at: path.join(MOUNT, limits, at), counted: new Set(['pids']) });
    if (id !== '0' || limits !== '' || LOGIN.test(at)) continue;
    const own = path.join(MOUNT, path.basename(at) === SERVICE ? path.dirname(at) : at);
    const counted = await countBelow(files, own).catch(() => new Set<Counted>());
    if (counted.size > 0) found.push({ at: own, counted });
  }
  return found.sort((a, b) => b.counted.size - a.counted.size);
}

/**
 * Has the kernel count in groups below this one what it can count here. A group of the new kind cannot have processes of its own then: all
 * that are in it (those of this service, to which the group is delegated) go into one below. Not every limit asks for that, but none
 * has an effect below a group that has processes: nothing may then come into the groups there.
 */
async function countBelow(files: GroupFiles, own: string): Promise<ReadonlySet<Counted>> {
  const has = String(await files.readFile(path.join(own, 'cgroup.controllers'), 'utf8'))
    .trim()
    .split(/\s+/);
  const wanted = (['pids', 'memory', 'cpu'] as const).filter((name) => has.includes(name));
  if (wanted.length === 0) return new Set();
  const below = path.join(own, SERVICE);
  let moved = false;
  try {
    // The root of all has no type, and may have processes.
    for (let n = 0; n < MOVES && (await exists(files, path.join(own, 'cgroup.type'))) && (await membersOf(files, own)).length > 0; n++) {
      await files.mkdir(below, { recursive: true });
      moved = true;
      await moveAll(files, own, below);
    }
    const counted = new Set<Counted>();
    let refused: unknown;
    for (const name of wanted)
      await files.writeFile(path.join(own, 'cgroup.subtree_control'), `+${name}`, { flag: 'r+' }).then(
        () => counted.add(name),
        (error: unknown) => (refused = error),
      );
    if (counted.size === 0) throw refused;
    return counted;
  } catch (error) {
    if (moved) {
      await moveAll(files, below, own).catch(() => undefined);
      await removed(files, below);
    }
    throw error;
  }
}

async function membersOf(files: GroupFiles, group: string): Promise<string[]> {
  const pids = String(await files.readFile(path.join(group, ALL), 'utf8')).split('\n');
  return pids.filter((line) => line !== '');
}

async function moveAll(files: GroupFiles, from: string, to: string): Promise<void> {
  for (const pid of await membersOf(files, from))
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
