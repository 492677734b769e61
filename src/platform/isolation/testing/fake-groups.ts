import path from 'node:path';
import type { GroupFiles } from '../process-groups.js';

const MOUNT = '/sys/fs/cgroup';
const failed = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });
/** The files that a group has where these are counted, and what is in them when it is made. */
const FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  pids: { 'pids.max': 'max' },
  memory: { 'memory.max': 'max', 'memory.oom.group': '0', 'memory.events': 'oom 0\noom_kill 0\n' },
  cpu: { 'cpu.weight': '100', 'cpu.max': 'max 100000' },
};

interface Group {
  readonly pids: Set<string>;
  /** What is counted in the groups below. */
  readonly counts: Set<string>;
  readonly settings: Map<string, string>;
}

/** The kernel's groups of the new kind, as far as the service uses them: what a file system alone does not do. */
export class FakeGroups {
  readonly #groups = new Map<string, Group>();

  /**
   * @param own the group of the service, with these processes
   * @param delegated what may be counted below it
   * @param refuses what the kernel refuses: the path of a file
   */
  constructor(
    private readonly own: string,
    pids: readonly string[],
    private readonly delegated: readonly string[] = ['pids'],
    private readonly refuses: (file: string, text: string) => string | undefined = () => undefined,
  ) {
    this.#groups.set(own, { pids: new Set(pids), counts: new Set(), settings: new Map() });
  }

  /** Each group with its processes and its limits. */
  get all(): Readonly<Record<string, readonly [pids: string, limits: Readonly<Record<string, string>>]>> {
    return Object.fromEntries(
      [...this.#groups].map(([at, { pids, settings }]) => [at, [[...pids].sort().join(' '), Object.fromEntries(settings)]]),
    );
  }

  /** The kernel ends what is in a group. */
  killForMemory(name: string): void {
    const group = this.#groups.get(name)!;
    group.settings.set('memory.events', `oom 1\noom_kill ${group.pids.size || 1}\noom_group_kill 1\n`);
    group.pids.clear();
  }

  get files(): GroupFiles {
    const files = {
      mkdir: (at: string, options?: { recursive?: boolean }) => this.#make(this.#name(at), options?.recursive === true),
      rmdir: (at: string) => this.#remove(this.#name(at)),
      readdir: () => [...this.#groups.keys()].filter((name) => path.dirname(name) === this.own).map((name) => path.basename(name)),
      readFile: (file: string) => this.#read(file),
      writeFile: (file: string, text: string) => this.#write(file, text),
      stat: (file: string) => {
        const isType = path.basename(file) === 'cgroup.type';
        if (!this.#groups.has(this.#name(isType ? path.dirname(file) : file))) throw failed('ENOENT');
        return { mtimeMs: Date.now() };
      },
    };
    const later = Object.entries(files).map(([name, act]) => [
      name,
      async (...args: never[]) => (act as (...a: never[]) => unknown)(...args),
    ]);
    return Object.fromEntries(later) as GroupFiles;
  }

  #name(at: string): string {
    return at.slice(MOUNT.length) || '/';
  }

  #make(name: string, isGood: boolean): void {
    if (this.#groups.has(name)) {
      if (isGood) return;
      throw failed('EEXIST');
    }
    const above = this.#groups.get(path.dirname(name));
    if (above === undefined) throw failed('ENOENT');
    const settings = new Map([...above.counts].flatMap((counted) => Object.entries(FILES[counted]!)));
    this.#groups.set(name, { pids: new Set(), counts: new Set(), settings });
  }

  #remove(name: string): void {
    const group = this.#groups.get(name);
    if (group === undefined) throw failed('ENOENT');
    if (group.pids.size > 0) throw failed('EBUSY');
    this.#groups.delete(name);
  }

  #read(file: string): string {
    if (file === '/proc/self/cgroup') return `0::${[...this.#groups].find(([, { pids }]) => pids.has('1'))![0]}\n`;
    if (file.endsWith('/cgroup.controllers')) return `${this.delegated.join(' ')}\n`;
    const group = this.#of(file);
    if (file.endsWith('/cgroup.procs')) return [...group.pids].join('\n');
    const text = group.settings.get(path.basename(file));
    if (text === undefined) throw failed('ENOENT');
    return text;
  }

  #write(file: string, text: string): void {
    const code = this.refuses(file, text);
    if (code !== undefined) throw failed(code);
    const group = this.#of(file);
    const name = path.basename(file);
    if (name === 'cgroup.subtree_control') {
      const counted = text.slice(1);
      if (!this.delegated.includes(counted)) throw failed('ENOENT');
      // Of processes alone it may, but then nothing comes into the groups below.
      if (group.pids.size > 0 && counted !== 'pids') throw failed('EBUSY');
      group.counts.add(counted);
      for (const [at, { settings }] of this.#groups)
        if (path.dirname(at) === this.#name(path.dirname(file)))
          for (const [setting, first] of Object.entries(FILES[counted]!)) if (!settings.has(setting)) settings.set(setting, first);
    } else if (name === 'cgroup.procs') {
      const above = this.#groups.get(path.dirname(this.#name(path.dirname(file))));
      if (group.counts.size > 0) throw failed('EBUSY');
      if (above !== undefined && above.counts.size > 0 && above.pids.size > 0) throw failed('EOPNOTSUPP');
      for (const { pids } of this.#groups.values()) pids.delete(text);
      group.pids.add(text);
    } else if (group.settings.has(name)) group.settings.set(name, text);
    else throw failed('ENOENT');
  }

  #of(file: string): Group {
    const group = this.#groups.get(this.#name(path.dirname(file)));
    if (group === undefined) throw failed('ENOENT');
    return group;
  }
}
