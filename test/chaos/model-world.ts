import { emptyHistory, SUPERVISOR, type Connection, type History, type LogRow, type Subscriber } from './history.js';
import type { Bug } from './bugs.js';
import { ModelLog } from './model-log.js';
import { Random } from './random.js';

export const HEARTBEAT_MS = 1_000;

/** An open stream of a client. */
export interface Live {
  readonly connection: Connection;
  readonly subscriber: Subscriber;
  /** Of each stream, what the client has. */
  readonly at: Map<string, number>;
  stuck: boolean;
  /** Streams that a replay has still to bring. */
  replaying: Set<string>;
}

export interface Replica {
  readonly name: string;
  /** Of each stream of the feed, what its subscribers have been given. */
  readonly at: Map<string, number>;
  /** Where the streams were that have left the feed. */
  readonly left: Map<string, number>;
  listening: boolean;
  readonly live: Set<Live>;
}

/** What the parts of the model share: the clock, the log, the replicas, and the history that they write. */
export class World {
  readonly history: History;
  readonly random: Random;
  readonly log: ModelLog;
  readonly replicas: readonly Replica[];
  /** Ids of the supervisor's frames are stored cursors. */
  readonly opaque: boolean;
  readonly running = new Set<string>();
  /** Rows that are committed, but not visible to readers yet (only with a bug). */
  readonly hidden = new Set<LogRow>();
  now = 0;

  constructor(
    seed: number,
    readonly bug?: Bug,
  ) {
    this.random = new Random(seed);
    this.history = emptyHistory(seed, HEARTBEAT_MS);
    this.opaque = bug === 'opaque id resolves to an older place' || this.random.chance(0.3);
    this.log = new ModelLog();
    this.replicas = ['a', 'b', 'c'].map((name) => ({
      name,
      at: new Map([[SUPERVISOR, 0]]),
      left: new Map(),
      listening: true,
      live: new Set(),
    }));
  }

  /** Whether the mistake is made this time. */
  is(bug: Bug, probability = 0.3): boolean {
    return this.bug === bug && this.random.chance(probability);
  }
}
