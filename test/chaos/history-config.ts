import type { Attempt } from './attempt.js';

export type EditKind =
  | 'agent.create'
  | 'agent.update'
  | 'agent.remove'
  | 'agent.suspend'
  | 'agent.resume'
  | 'rig.create'
  | 'rig.remove'
  | 'rig.suspend'
  | 'rig.resume'
  | 'provider.create'
  | 'provider.remove'
  | 'patch.put'
  | 'patch.remove';

/** One attempt at a change of a city's configuration. Every value that it sets is its marker. */
export interface Edit extends Attempt {
  readonly kind: EditKind;
  readonly subject: string;
  /** The keys that it sets, as `agent scout description`; null takes one away. */
  readonly sets: Readonly<Record<string, string | null>>;
  /** Answered in ETag. */
  readonly revision?: number;
  /** Answered in X-SVC-Index. */
  readonly index?: number;
}

/** One save of somebody who edits `city.toml` on disk. Nobody else writes the key that they count up. */
export interface Save {
  readonly city: string;
  readonly value: number;
  readonly how: 'renamed' | 'in place';
  /** The file is no TOML from here on, until the next save. */
  readonly broken?: boolean;
  /** From reading the file to having saved it. */
  readonly from: number;
  readonly to: number;
  /** The markers of edits that were in what was saved. */
  readonly kept: readonly string[];
}

/** What a configuration was at a position of the log: as a replica answered it. */
export interface ConfigView {
  readonly city: string;
  readonly source: string;
  readonly at: number;
  readonly index: number;
  readonly revision?: number;
  /** `agent scout`, `rig web`, `provider loopback`, `patch agent scout`. */
  readonly names: readonly string[];
  /** Markers by key, where the answer has them. */
  readonly values?: Readonly<Record<string, string>>;
  /** What the editor on disk counts up. */
  readonly disk?: number;
  /** By name: what the files say, and what holds. */
  readonly suspended?: Readonly<Record<string, readonly [declared: boolean, effective: boolean]>>;
}

/** What there is of a city's configuration when everything is quiet. */
export interface ConfigEnd {
  readonly city: string;
  /** Edits that somebody still holds. */
  readonly held: number;
  /** The revision of the rows, and those that are kept. */
  readonly revision: number;
  readonly revisions: readonly number[];
  readonly rejected: boolean;
  /** Temporary files of edits. */
  readonly temporaries: readonly string[];
  /** Agents whose folders were put aside and not given up. */
  readonly aside: readonly string[];
  /** What the product says of the files; of running cities. */
  readonly valid?: boolean;
  readonly differences?: number;
  /** Markers by key as the files have them, read without the product. */
  readonly files: Readonly<Record<string, string>>;
  readonly disk?: number;
  /** Things of which the files have one half only. */
  readonly halves: readonly string[];
}
