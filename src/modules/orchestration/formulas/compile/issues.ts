import type { Issue } from '../../../files/composition/issue.js';
import { keyLines, type KeyLines } from '../../../files/composition/toml/locate.js';
import type { Where } from './formula.js';
import { LIMITS } from './limits.js';

/** What is wrong with a formula and the files that it is made of, each at its place. */
export class Issues {
  readonly #found: Issue[] = [];
  readonly #told = new Set<string>();

  get any(): boolean {
    return this.#found.length > 0;
  }

  error({ file, key }: Where, message: string, accepted?: readonly string[]): void {
    this.push({ severity: 'error', file, key, message, ...(accepted === undefined ? {} : { accepted }) });
  }

  /** Says something once; of very much only the beginning. */
  push(issue: Issue): void {
    const said = `${issue.file}\0${issue.key}\0${issue.message}`;
    if (this.#found.length >= LIMITS.issues || this.#told.has(said)) return;
    this.#told.add(said);
    this.#found.push(issue);
  }

  /** In the order of files and lines. @param text of a file that it is about */
  placed(text: (file: string) => string | undefined): Issue[] {
    const lines = new Map<string, KeyLines>();
    const placed = this.#found.map((issue): Issue => {
      if (issue.line !== undefined) return issue;
      const known = lines.get(issue.file) ?? keyLines(text(issue.file) ?? '');
      lines.set(issue.file, known);
      const line = known(issue.key);
      return line === undefined ? issue : { ...issue, line };
    });
    return placed.sort((a, b) => (a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1));
  }
}

/** The place of a member of something. */
export function inside({ file, key }: Where, member: string): Where {
  return { file, key: key === '' ? member : `${key}.${member}` };
}
