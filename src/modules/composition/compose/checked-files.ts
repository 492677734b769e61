import type { Format } from '../formats/format.js';
import { checkDocument } from '../formats/read.js';
import type { Issue } from '../issue.js';
import type { Table } from '../tree.js';

interface Checked {
  readonly file: string;
  readonly format: Format;
  readonly table: Table | undefined;
  readonly issues: readonly Issue[];
}

/** Characters of texts that are remembered; what was checked takes some ten times their memory. */
const CHARACTERS = 8 * 1024 * 1024;
/** Files of one text that are remembered. */
const ALIKE = 8;

/**
 * What the files that were checked last hold: a city that is composed again because one file changed parses that one.
 * Tables are values, so cities and revisions may share them.
 */
export class CheckedFiles {
  /** By text; those that were asked for last at the end. */
  readonly #known = new Map<string, Checked[]>();
  #characters = 0;

  constructor(private readonly capacity = CHARACTERS) {}

  /** As `checkDocument`. */
  check(text: string, file: string, format: Format): Pick<Checked, 'table' | 'issues'> {
    const alike = this.#known.get(text);
    const known = alike?.find((one) => one.file === file && one.format === format);
    if (known !== undefined) {
      this.#known.delete(text);
      this.#known.set(text, alike!);
      return known;
    }
    const issues: Issue[] = [];
    const checked: Checked = { file, format, table: checkDocument(text, file, format, issues), issues };
    this.#keep(text, [checked, ...(alike ?? [])].slice(0, ALIKE));
    return checked;
  }

  #keep(text: string, alike: Checked[]): void {
    if (!this.#known.delete(text)) this.#characters += text.length;
    this.#known.set(text, alike);
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= this.capacity) return;
      this.#known.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}

/** One for the process. */
export const checkedFiles = new CheckedFiles();
