import { isMainThread } from 'node:worker_threads';
import type { Format } from '../formats/format.js';
import { checkDocument } from '../formats/read.js';
import type { Issue } from '../issue.js';
import { List, Table, type Node } from '../tree.js';

interface Checked {
  readonly file: string;
  readonly format: Format;
  readonly table: Table | undefined;
  readonly issues: readonly Issue[];
  readonly weight: number;
}

/** Characters of texts that are remembered, with what their values count for; they take some ten times that in memory. */
const CHARACTERS = 8 * 1024 * 1024;
/** A value takes as much memory as this many characters, also when it is written in three of them. */
const PER_VALUE = 40;
/** Files of one text that are remembered. */
const ALIKE = 8;

/**
 * What the files that were checked last hold: a city that is composed again because one file changed parses that one.
 * Tables are values, so cities and revisions may share them.
 */
export class CheckedFiles {
  /** By text; those that were asked for last at the end. */
  readonly #known = new Map<string, Checked[]>();
  #weight = 0;

  constructor(private readonly capacity = CHARACTERS) {}

  /** As `checkDocument`. */
  readonly document: typeof checkDocument = (text, file, format, issues) => {
    const { table, issues: found } = this.check(text, file, format);
    issues.push(...found);
    return table;
  };

  /** As `checkDocument`, answering the issues. */
  check(text: string, file: string, format: Format): Pick<Checked, 'table' | 'issues'> {
    const alike = this.#known.get(text);
    const known = alike?.find((one) => one.file === file && one.format === format);
    if (known !== undefined) {
      this.#known.delete(text);
      this.#known.set(text, alike!);
      return known;
    }
    const issues: Issue[] = [];
    const table = checkDocument(text, file, format, issues);
    const weight = text.length + PER_VALUE * ((table === undefined ? 0 : valuesIn(table)) + issues.length);
    const checked: Checked = { file, format, table, issues, weight };
    this.#keep(text, [checked, ...(alike ?? [])].slice(0, ALIKE));
    return checked;
  }

  #keep(text: string, alike: Checked[]): void {
    this.#forget(text);
    this.#known.set(text, alike);
    this.#weight += weightOf(alike);
    for (const oldest of this.#known.keys()) {
      if (this.#weight <= this.capacity) return;
      this.#forget(oldest);
    }
  }

  #forget(text: string): void {
    this.#weight -= weightOf(this.#known.get(text) ?? []);
    this.#known.delete(text);
  }
}

function weightOf(alike: readonly Checked[]): number {
  return alike.reduce((sum, { weight }) => sum + weight, 0);
}

function valuesIn(node: Node): number {
  const members = node instanceof Table ? node.entries.values() : node instanceof List ? node.items : [];
  let count = 1;
  for (const member of members) count += valuesIn(member);
  return count;
}

/** One for the process, and a smaller one for each of its threads, whose memory is little. */
export const checkedFiles = new CheckedFiles(isMainThread ? CHARACTERS : CHARACTERS / 4);
