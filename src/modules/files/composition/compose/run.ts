import { posix } from 'node:path';
import { atOnce } from '../../../../platform/time/at-once.js';
import type { Format } from '../formats/format.js';
import type { Issue } from '../issue.js';
import type { PackStore } from '../packs/pack-store.js';
import { fileName, TreeFailure, type Allowance, type FileTree } from '../trees/file-tree.js';
import type { Origin, Table } from '../tree.js';
import { checkedFiles } from './checked-files.js';
import { LIMITS, SMALL } from './limits.js';
import { Suggestions } from './suggestions.js';

export interface ComposeInput {
  /** The city's files. */
  readonly tree: FileTree;
  readonly packs: PackStore;
  /** The name of the city's directory, for a city that has none of its own. */
  readonly cityName: string;
  /** Only when it is little: what takes more than `SMALL` is given up with `Outgrown`. */
  readonly small?: boolean;
}

/** Where something was written: every node is such a place. */
export interface Written {
  readonly origin: Origin;
  readonly at: string;
}

/** A file or directory of a tree. */
export interface Located {
  readonly tree: FileTree;
  readonly path: string;
}

/** How many files are asked for at a time; how many threads that takes, `DiskPlaces` says. */
const READERS = 16;

/** Composing takes more than any city needs; the message is for the owner of the files. */
export class TooMuch extends Error {}

/** Composing takes more than may be done on the event loop. */
export class Outgrown extends Error {}

/** What may still be used up, in units of `LIMITS`. */
interface Budget extends Allowance {
  characters: number;
  copies: number;
  texts: number;
  values: number;
  result: number;
  steps: number;
  looks: number;
}

/** What is stepped through has limits of its own, each with its own words; what is gone over, those of a thread's time and memory. */
const WHOLE: Readonly<Budget> = { ...LIMITS, files: LIMITS.digested, steps: Infinity, looks: Infinity };

const WORDS: Readonly<Record<keyof Budget, string>> = {
  files: 'the city and its packs have, in all folders together, more files than',
  bytes: 'the files of the city and its packs have more bytes than',
  characters: 'the files of the city and its packs are larger than',
  copies: 'patches and defaults of agents, and overrides of orders, copy more than',
  texts: 'the formulas of the city and the files that describe their steps have more characters than',
  values: 'the composed result has more values than',
  result: 'the composed result has more characters than',
  steps: 'composing takes more steps than',
  looks: 'composing goes over more than',
};

/** One composing: what it reads from and what it has to say. Texts of issues name keys and names, never values. */
export class Run {
  /** What there is to say so far. Of very much only the beginning is kept, so that a hostile file costs no memory. */
  readonly issues: Issue[] = [];
  readonly #kept = { error: 0, warning: 0 };
  readonly #told = new Set<string>();

  constructor(
    readonly input: ComposeInput,
    /** Files that were read as tables, by the name that issues have for them. */
    readonly sources = new Map<string, Located>(),
    private readonly budget: Budget = { ...(input.small === true ? SMALL : WHOLE) },
    /** What folders hold: many agents may share one. */
    private readonly digested = new Map<FileTree, Map<string, ReturnType<FileTree['digests']>>>(),
    readonly suggestions = new Suggestions(),
  ) {}

  /** Uses something up, so that small files cannot ask for endless work. @throws TooMuch, Outgrown */
  spend(what: keyof Budget, amount: number): void {
    this.budget[what] -= amount;
    if (this.budget[what] >= 0) return;
    throw this.input.small === true ? new Outgrown() : new TooMuch(`${WORDS[what]} ${WHOLE[what]}`);
  }

  error(where: Written, message: string, accepted?: readonly string[]): void {
    const { origin, at } = where;
    this.push({ severity: 'error', file: origin.file, key: at, message, ...(accepted === undefined ? {} : { accepted }) });
  }

  warn({ origin, at }: Written, message: string): void {
    this.push({ severity: 'warning', file: origin.file, key: at, message });
  }

  /** Says something once: what holds for an agent in every rig is told about its definition. */
  push(issue: Issue): void {
    const { severity, file, line, key, message } = issue;
    if (this.#kept[severity] >= LIMITS.issues) return;
    const said = `${severity} ${file} ${key} ${line ?? ''} ${message}`;
    if (this.#told.has(said)) return;
    this.#told.add(said);
    this.#kept[severity]++;
    this.issues.push(issue);
  }

  /**
   * The table in a file; undefined when there is no file or nothing usable in it.
   * @param severity `warning` for a file that may be unusable by itself: the city is composed without it
   */
  async table({ tree, path }: Located, format: Format, severity?: 'warning'): Promise<Table | undefined> {
    const file = fileName(tree, path);
    this.sources.set(file, { tree, path });
    const text = await this.text({ tree, path });
    if (text === undefined) return undefined;
    if (this.input.small === true && text.length > SMALL.table) throw new Outgrown();
    this.spend('characters', text.length);
    const { table, issues } = checkedFiles.check(text, file, format);
    for (const issue of issues) this.push(severity === undefined ? issue : { ...issue, severity });
    return table;
  }

  /**
   * The text of a file; undefined when there is none or it cannot be read, which is an issue.
   * @param severity `warning` for a file without which the city can be used
   */
  async text({ tree, path }: Located, severity: Issue['severity'] = 'error'): Promise<string | undefined> {
    const text = await this.#guarded({ tree, path }, () => tree.read(path), severity);
    this.spend('bytes', text?.length ?? 0);
    return text;
  }

  /** Files below a directory with their digests; empty when they cannot be read, which is an issue. @throws TooMuch */
  async digests({ tree, path }: Located): ReturnType<FileTree['digests']> {
    return (await this.#guarded({ tree, path }, () => this.#digestsOnce(tree, path))) ?? [];
  }

  async #digestsOnce(tree: FileTree, path: string): ReturnType<FileTree['digests']> {
    const known = this.digested.get(tree) ?? new Map<string, ReturnType<FileTree['digests']>>();
    this.digested.set(tree, known);
    const answer = known.get(path) ?? tree.digests(path, this.budget);
    known.set(path, answer);
    try {
      return await answer;
    } finally {
      this.spend('files', 0);
      this.spend('bytes', 0);
    }
  }

  /** Names in a directory. */
  async list({ tree, path }: Located): ReturnType<FileTree['list']> {
    return (await this.#guarded({ tree, path }, () => tree.list(path))) ?? [];
  }

  /** Works on many items at a time. What is wrong with them is told in their order, whichever is done first. */
  async each<T, R>(items: readonly T[], work: (run: Run, item: T) => Promise<R>): Promise<R[]> {
    const runs = items.map(() => new Run(this.input, this.sources, this.budget, this.digested, this.suggestions));
    const results = new Array<R>(items.length);
    await atOnce(READERS, items.entries(), async ([n, item]) => (results[n] = await work(runs[n]!, item)));
    for (const { issues } of runs) for (const issue of issues) this.push(issue);
    return results;
  }

  /** A failure that another try may not have is nobody's mistake, so it goes to the caller. */
  async #guarded<T>({ tree, path }: Located, read: () => Promise<T>, severity: Issue['severity'] = 'error'): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof TreeFailure) || error.transient) throw error;
      this.push({ severity, file: fileName(tree, error.path || path || '.'), key: '', message: error.message });
      return undefined;
    }
  }
}

/**
 * The path that a value of a file stands for: `//x` counts from the city, everything else from the folder of the file.
 * Undefined when it leads out of the tree or is absolute.
 */
export function resolvePath(run: Run, from: Located, written: string): Located | undefined {
  const path = pathFrom(from.path, written);
  return path === undefined ? undefined : { tree: written.startsWith('//') ? run.input.tree : from.tree, path };
}

/** As `resolvePath`, of a file in this folder: the path alone. */
export function pathFrom(folder: string, written: string): string | undefined {
  const fromCity = written.startsWith('//');
  const rest = fromCity ? written.slice(2) : written;
  if (rest === '' || rest.startsWith('/') || rest.includes('\\')) return undefined;
  const path = posix.normalize(posix.join(fromCity ? '' : folder, rest)).replace(/\/$/, '');
  return path === '..' || path.startsWith('../') ? undefined : path;
}

/** A path below another one, where '' is the root of the tree. */
export function below(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** The folder that relative values of a file count from. */
export function folderOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at < 0 ? '' : path.slice(0, at);
}
