import { sql } from 'kysely';
import type { SessionState, StopRequest, WakeRequest } from './session-states.js';

/** A session as its row has it. Times are by the database's clock. */
export interface SessionRow {
  readonly pk: number;
  readonly stream_id: number;
  readonly id: string;
  readonly session_name: string;
  /** '' for none. */
  readonly alias: string;
  readonly past_aliases: readonly string[];
  readonly title: string;
  readonly kind: 'agent' | 'provider';
  /** The agent's qualified name, or the provider's. */
  readonly template: string;
  readonly agent: string | null;
  /** The name under which it works: the agent's, or that of the pool's member it is. */
  readonly agent_name: string | null;
  readonly slot: number | null;
  readonly rig: string;
  readonly provider: string;
  /** The preset whose program it starts: what a host's readiness is asked about. */
  readonly preset: string | null;
  readonly transport: 'acp' | 'pty' | 'exec';
  readonly origin: 'manual' | 'named' | 'pool';
  readonly named_identity: string | null;
  readonly created_by: string;
  readonly state: SessionState;
  readonly reason: string | null;
  readonly close_code: string | null;
  /** Counts processes; 0 before the first. */
  readonly generation: number;
  /** Counts conversations, from 1. */
  readonly epoch: number;
  readonly instance_token: string | null;
  /** The agent's own id of the conversation. */
  readonly session_key: string | null;
  /** Who may have a process of it; null means that nobody has. */
  readonly runner_id: string | null;
  /** A process answers. */
  readonly live: boolean;
  readonly wake_request: WakeRequest | null;
  readonly wake_requested_at: Date | null;
  /** No start before this. */
  readonly not_before: Date | null;
  readonly stop_request: StopRequest | null;
  readonly stop_reason: string | null;
  readonly stop_requested_at: Date | null;
  readonly stop_deadline: Date | null;
  readonly start_deadline: Date | null;
  readonly held_until: Date | null;
  readonly quarantined_until: Date | null;
  readonly reset_pending: boolean;
  readonly delete_pending: boolean;
  readonly continuity_eligible: boolean;
  readonly failed_starts: number;
  readonly crashes: readonly Date[];
  /** When processes of a named session ended without a finished turn, since the last one that finished one. */
  readonly restarts: readonly Date[];
  /** When its worker was lost, since it has last finished a turn; null for never. */
  readonly losses: readonly Date[] | null;
  /** For that it is not started again before this. */
  readonly circuit_until: Date | null;
  readonly churns: number;
  /** What was chosen for this session, over the provider's defaults. */
  readonly options: Readonly<Record<string, string>>;
  /** The options that the live agent offers, as it named them. */
  readonly option_schema: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly work_dir: string | null;
  readonly launch_hash: string | null;
  /** The `options` that its process was started with. */
  readonly launch_options: Readonly<Record<string, string>> | null;
  /** A person lets its process go on under the configuration that has this hash. */
  readonly accepted_hash: string | null;
  /** The last 64 KiB that the last process said on its error output. */
  readonly stderr_tail: string | null;
  /** What went wrong when its last process could not be started or went down; null once one answers. */
  readonly failure: string | null;
  /** A digest of all that its last start was made from; null where no start has been tried with what is configured now. */
  readonly tried_hash: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly state_at: Date;
  readonly last_woke_at: Date | null;
  readonly ready_at: Date | null;
  readonly last_turn_at: Date | null;
  readonly closed_at: Date | null;
}

/** The columns of a row, of `sessions s`. */
export const SESSION_ROW = sql`s.pk, s.stream_id, s.id, s.session_name, s.alias, s.past_aliases, s.title, s.kind, s.template, s.agent, s.agent_name, s.slot,
  s.rig, s.provider, s.preset, s.transport, s.origin, s.named_identity, s.created_by, s.state, s.reason, s.close_code, s.generation, s.epoch,
  s.instance_token, s.session_key, s.runner_id, s.live, s.wake_request, s.wake_requested_at, s.not_before, s.stop_request, s.stop_reason,
  s.stop_requested_at, s.stop_deadline, s.start_deadline, s.held_until, s.quarantined_until, s.reset_pending, s.delete_pending,
  s.continuity_eligible, s.failed_starts, s.crashes, s.restarts, s.losses, s.circuit_until, s.churns, s.options, s.option_schema, s.capabilities, s.metadata, s.work_dir,
  s.launch_hash, s.launch_options, s.accepted_hash, s.stderr_tail, s.failure, s.tried_hash, s.created_at, s.updated_at, s.state_at, s.last_woke_at, s.ready_at,
  s.last_turn_at, s.closed_at`;

/** Stands for when a change is written, by the clock of the database; the same in all columns of one change. */
export const NOW = Symbol('now');

type Stamps = 'ready_at' | 'last_woke_at' | 'last_turn_at' | 'wake_requested_at' | 'stop_requested_at';

/** Columns that the state table does not own. */
export type SessionPatch = Partial<
  Omit<SessionRow, 'pk' | 'stream_id' | 'id' | 'state' | 'created_at' | 'updated_at' | 'state_at' | 'closed_at' | Stamps>
> & {
  readonly [K in Stamps]?: Date | null | typeof NOW;
} & {
  /** SHA-256 of the token with which this session's process may call the API. */
  readonly token_hash?: Buffer | null;
  /** Hashes of the parts of `launch_hash`. */
  readonly launch_parts?: Readonly<Record<string, string>>;
};

export type NameKind = 'session_name' | 'alias' | 'agent' | 'identity';

export interface NewSession {
  readonly alias?: string;
  /** Without one it is derived from the id. */
  readonly session_name?: string;
  readonly title: string;
  readonly kind: 'agent' | 'provider';
  readonly template: string;
  readonly agent?: string;
  readonly agent_name?: string;
  readonly slot?: number;
  readonly rig?: string;
  readonly provider: string;
  readonly preset?: string | undefined;
  readonly transport: 'acp' | 'pty' | 'exec';
  readonly origin: 'manual' | 'named' | 'pool';
  readonly named_identity?: string;
  readonly created_by: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly work_dir?: string;
  /** `suspended` for one that is parked before it ever ran, `asleep` for one that something may wake; `start-pending` unless said. */
  readonly state?: 'start-pending' | 'asleep' | 'suspended';
  readonly reason?: string;
  /** Why it is to be started at once; without it the session waits for somebody to wake it. */
  readonly wake_request?: string;
}
