import type { FormulaSource } from './formula.js';

/** A file beside a formula. */
export interface BesideFile {
  /** As in `Issue.file`. */
  readonly file: string;
  readonly sha256: string;
  /** Of a file that a formula includes. */
  readonly text?: string;
}

/** What a formula may refer to: plain data, so that compiling can be done anywhere. */
export interface Library {
  formula(name: string): FormulaSource | undefined;
  /** The file that a path of a formula stands for; undefined when there is none inside the city and its packs. */
  beside(from: string, path: string): BesideFile | undefined;
}
