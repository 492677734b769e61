import type { Issue } from './issue.js';
import type { Table } from './tree.js';

/** What composing a city's files gives. */
export interface Composition {
  /** The composed result, in the shape of `CityConfig`; undefined when there are errors. */
  readonly config: Table | undefined;
  /** Texts that are stored with the result, by SHA-256: formulas, and the files that describe their steps. */
  readonly texts: ReadonlyMap<string, string>;
  /** Everything that is wrong or doubtful, in the order in which it was met. */
  readonly issues: readonly Issue[];
}
