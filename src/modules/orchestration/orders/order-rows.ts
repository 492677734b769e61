import type { OrderDefinition, Trigger } from './order-definition.js';

/** What is remembered of an order. */
export interface OrderRow {
  readonly scoped_name: string;
  readonly name: string;
  readonly rig: string;
  readonly definition: OrderDefinition;
  readonly enabled: boolean;
  readonly present: boolean;
  readonly created_at: Date;
  /** The slot that comes next; it may have passed. */
  readonly next_due_at: Date | null;
  /** When a worker looks at it; null while it waits for an event, for somebody, or for its firing to end. */
  readonly look_at: Date | null;
  /** Up to where the city's events have been dealt with. */
  readonly event_cursor: number;
  readonly last_started_at: Date | null;
  readonly last_outcome: string | null;
  /** One after the other, since the last success. */
  readonly failures: number;
  /** What the last look has found. */
  readonly note: string | null;
}

export type Cause = Trigger | 'run';
export type Outcome = 'success' | 'failed' | 'timeout' | 'canceled' | 'lost';

/** An event as commands get it. */
export interface HandedEvent {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly actor: string;
  readonly subject?: string;
  readonly message?: string;
  readonly payload?: unknown;
  /** How many this firing stands for. */
  readonly count: number;
}

export interface FiringRow {
  readonly pk: number;
  readonly id: string;
  readonly stream_id: number;
  readonly scoped_name: string;
  readonly name: string;
  readonly rig: string;
  readonly definition: OrderDefinition;
  readonly cause: Cause;
  readonly actor: string;
  readonly reason: string | null;
  readonly vars: Readonly<Record<string, string>>;
  readonly event: HandedEvent | null;
  readonly forced: boolean;
  readonly state: 'checking' | 'queued' | 'running' | 'done';
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly worker: string | null;
  readonly attempts: number;
  readonly outcome: Outcome | null;
  readonly exit_code: number | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly root_bead_id: string | null;
}

/** One that a worker has taken. */
export interface ClaimedFiring extends FiringRow {
  /** Whether its order is there and enabled; null while no worker has read it. */
  readonly active: boolean | null;
  /** Of the last process that was begun for it, or was about to be: a worker had it before, where there is one. */
  readonly token_hash: Buffer | null;
}

/** One that goes to whoever takes it next: of a worker that gives back its own, as it was taken. */
export type GivenBack = FiringRow & Partial<Pick<ClaimedFiring, 'token_hash'>>;

/** What is shown of one. */
export type ShownFiring = Omit<FiringRow, 'stream_id' | 'vars' | 'event' | 'forced' | 'worker' | 'attempts'>;
export type OpenFiring = Pick<FiringRow, 'id' | 'name' | 'scoped_name' | 'rig' | 'definition' | 'state' | 'created_at' | 'started_at'>;

/** What carrying it out is: a command has a place and a process on a host, a launch is a transaction. */
export type FiringKind = 'command' | 'launch';

export interface NewFiring {
  readonly id: string;
  readonly order: Pick<OrderRow, 'scoped_name' | 'name' | 'rig' | 'definition'>;
  readonly cause: Cause;
  readonly actor: string;
  readonly reason: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly event?: HandedEvent | undefined;
  readonly forced?: boolean;
  readonly state: 'checking' | 'queued';
}

/** How a command ended. */
export interface Ended {
  readonly outcome: Outcome;
  readonly exitCode?: number | undefined;
  /** The end of its output, without secrets. */
  readonly output?: string | undefined;
  readonly error?: string | undefined;
}
