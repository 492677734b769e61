import { createHash } from 'node:crypto';
import type { CityConfig } from '../composition/city-config.js';
import { describeIssue, errorsOf, type Issue } from '../composition/issue.js';
import { placesOf, plain, type Place, type Table } from '../composition/tree.js';
import type { RigClaims } from '../directories/directories.service.js';

/** A composed configuration ready to be stored. */
export interface Composed {
  readonly config: CityConfig;
  /** The same as JSON. */
  readonly configText: string;
  /** Where every leaf was written, as JSON: `[path, file, key][]`. */
  readonly originsText: string;
  /** SHA-256 of the two: equal for results that no reader could tell apart. */
  readonly hash: string;
  readonly warnings: readonly string[];
  /** The directories outside of the city that it gets with this. */
  readonly rigClaims: RigClaims;
}

export type Attempt =
  | { readonly composed: Composed; readonly issues: readonly Issue[] }
  | { readonly errors: readonly Issue[]; readonly issues: readonly Issue[] };

/** What composing gave, as it is stored and compared. */
export function attemptOf(config: Table | undefined, issues: readonly Issue[], rigClaims: RigClaims): Attempt {
  const errors = errorsOf(issues);
  if (config === undefined || errors.length > 0) return { errors: errors.length > 0 ? errors : [unusable()], issues };
  const value = plain(config) as CityConfig;
  const configText = JSON.stringify(value);
  const originsText = JSON.stringify(placesOf(config).map(({ path, file, at }: Place) => [path, file, at]));
  const hash = createHash('sha256').update(configText).update('\0').update(originsText).digest('hex');
  return { composed: { config: value, configText, originsText, hash, warnings: issues.map(describeIssue), rigClaims }, issues };
}

function unusable(): Issue {
  return { severity: 'error', file: 'city.toml', key: '', message: 'cannot be used' };
}
