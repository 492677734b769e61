import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CurrentConfig } from './config-reads.service.js';

export interface FollowedCity {
  readonly name: string;
  readonly streamId: number;
}

/** Tables with a row a city: `stream_id`, and the `revision` that was followed last. */
export type FollowerTable = keyof Database & `${string}_cities`;
/** Those that also have `running`. */
export type RunningTable = { [T in FollowerTable]: 'running' extends keyof Database[T] ? T : never }[FollowerTable];

/** Who keeps something that the files of cities say. */
export interface Follower {
  readonly table: FollowerTable;
  /** For the log: `the orders of a city`. */
  readonly what: string;
  /** Makes hold what the city says now, in the transaction that notes its revision. Nobody else follows that city for it meanwhile. */
  readonly follow: (tx: Tx, city: FollowedCity, current: CurrentConfig) => Promise<void>;
}

/** The same, of what is only there while a city runs. */
export interface RunningFollower extends Omit<Follower, 'follow' | 'table'> {
  readonly table: RunningTable;
  readonly follow: (tx: Tx, city: FollowedCity, current: CurrentConfig, running: boolean) => Promise<void>;
  /** The city is registered no more. */
  readonly gone: (tx: Tx, city: FollowedCity) => Promise<void>;
}
