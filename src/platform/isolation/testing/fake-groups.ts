import path from 'node:path';
import type { GroupFiles } from '../process-groups.js';

const MOUNT = '/sys/fs/cgroup';
const failed = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

interface Group {
  readonly pids: Set<string>;
  /** What is counted in the groups below. */
  readonly counts: Set<string>;
  most: string | undefined;
}

/** The kernel's groups of the new kind, as far as the service uses them: what a file system alone does not do. */
export class FakeGroups {
  readonly #groups = new Map<string, Group>();

  /** @param own the group of the service, with these processes @param refuses what the kernel refuses: the path of a file */
  constructor(
    private readonly own: string,
    pids: readonly string[],
    private readonly refuses: (file: string, text: string) => string | undefined = () => undefined,
  ) {
    this.#groups.set(own, { pids: new Set(pids), counts: new Set(), most: undefined });
  }

  /** Each group with its processes and its limit. */
  get all(): Readonly<Record<string, readonly [pids: string, most: string | undefined]>> {
    return Object.fromEntries([...this.#groups].map(([at, { pids, most }]) => [at, [[...pids].sort().join(' '), most]]));
  }

  get files(): GroupFiles {
    const files = {
      mkdir: (at: string, options?: { recursive?: boolean }) => this.#make(this.#name(at), options?.recursive === true),
      rmdir: (at: string) => this.#remove(this.#name(at)),
      readdir: () => [...this.#groups.keys()].filter((name) => path.dirname(name) === this.own).map((name) => path.basename(name)),
      readFile: (file: string) => this.#read(file),
      writeFile: (file: string, text: string) => this.#write(file, text),
      stat: (file: string) => {
        if (!this.#groups.has(this.#name(file))) throw failed('ENOENT');
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
    this.#groups.set(name, { pids: new Set(), counts: new Set(), most: above.counts.has('pids') ? 'max' : undefined });
  }

  #remove(name: string): void {
    const group = this.#groups.get(name);
    if (group === undefined) throw failed('ENOENT');
    if (group.pids.size > 0) throw failed('EBUSY');
    this.#groups.delete(name);
  }

  #read(file: string): string {
    if (file === '/proc/self/cgroup') return `0::${[...this.#groups].find(([, { pids }]) => pids.has('1'))![0]}\n`;
    return [...this.#of(file).pids].join('\n');
  }

  #write(file: string, text: string): void {
    const code = this.refuses(file, text);
    if (code !== undefined) throw failed(code);
    const group = this.#of(file);
    if (file.endsWith('/cgroup.subtree_control')) {
      if (group.pids.size > 0) throw failed('EBUSY');
      group.counts.add(text.slice(1));
      for (const [name, below] of this.#groups) if (path.dirname(name) === this.#name(path.dirname(file))) below.most ??= 'max';
    } else if (file.endsWith('/cgroup.procs')) {
      if (group.counts.size > 0) throw failed('EBUSY');
      for (const { pids } of this.#groups.values()) pids.delete(text);
      group.pids.add(text);
    } else if (file.endsWith('/pids.max') && group.most !== undefined) group.most = text;
    else throw failed('ENOENT');
  }

  #of(file: string): Group {
    const group = this.#groups.get(this.#name(path.dirname(file)));
    if (group === undefined) throw failed('ENOENT');
    return group;
  }
}
