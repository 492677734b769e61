import { createHash } from 'node:crypto';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { Composition } from '../../files/composition/composition.js';
import { describeIssue, errorsOf, type Issue } from '../../files/composition/issue.js';
import { placesOf, plain, type Place } from '../../files/composition/tree.js';
import type { RigClaims } from '../../files/directories/directories.service.js';
import type { Roster } from '../roster/roster.js';
import { answerOf } from './config.mapper.js';
import { factsOf, type CityFacts } from './facts.js';
import { rosterOf } from './roster-of.js';

/** The result of composing as it is stored, with everything that is made from it: nobody has to parse it again. */
export interface Stored {
  /** A `CityConfig` as JSON. */
  readonly configText: string;
  /** Where every leaf was written, as JSON: `[path, file, key][]`. */
  readonly originsText: string;
  /** SHA-256 of the two: equal for results that no reader could tell apart. */
  readonly hash: string;
  /** The answer of `GET config`. */
  readonly answer: string;
  readonly facts: CityFacts;
  /** Texts that are stored beside it, by SHA-256. */
  readonly texts: ReadonlyMap<string, string>;
  readonly roster: Roster;
}

/** A composed configuration ready to be stored. */
export interface Composed extends Stored {
  readonly warnings: readonly string[];
  /** The directories outside of the city that it gets with this. */
  readonly rigClaims: RigClaims;
}

export type Attempt =
  | { readonly composed: Composed; readonly issues: readonly Issue[] }
  | { readonly errors: readonly Issue[]; readonly issues: readonly Issue[] };

/** The path of a rig, and where it was written. */
export interface RigPath {
  readonly path: string;
  readonly file: string;
  readonly at: string;
}

/** What composing gave, as plain values. */
export interface ComposedFiles {
  readonly issues: readonly Issue[];
  /** Of rigs that have a path, in their order; none when the files cannot be used. */
  readonly rigs: readonly RigPath[];
  /** Undefined when the files cannot be used. */
  readonly stored: Stored | undefined;
}

export function filesOf({ config, issues, texts }: Composition): ComposedFiles {
  if (config === undefined || errorsOf(issues).length > 0) return { issues, rigs: [], stored: undefined };
  const value = plain(config) as CityConfig;
  const configText = JSON.stringify(value);
  const originsText = JSON.stringify(placesOf(config).map(({ path, file, at }: Place) => [path, file, at]));
  const hash = createHash('sha256').update(configText).update('\0').update(originsText).digest('hex');
  const rigs = config.tables('rigs').flatMap((rig) => {
    const [path, node] = [rig.text('path'), rig.get('path')];
    return path === undefined || node === undefined ? [] : [{ path, file: node.origin.file, at: node.at }];
  });
  const stored = { configText, originsText, hash, answer: answerOf(value), facts: factsOf(value), texts, roster: rosterOf(value) };
  return { issues, rigs, stored };
}

/** What composing gave, as it is stored and compared. */
export function attemptOf(stored: Stored | undefined, issues: readonly Issue[], rigClaims: RigClaims): Attempt {
  const errors = errorsOf(issues);
  if (stored === undefined || errors.length > 0) return { errors: errors.length > 0 ? errors : [unusable()], issues };
  return { composed: { ...stored, warnings: issues.map(describeIssue), rigClaims }, issues };
}

function unusable(): Issue {
  return { severity: 'error', file: 'city.toml', key: '', message: 'cannot be used' };
}
