import type { InteractionOption } from '../../../platform/runtime/port.js';

export type InteractionStatus = 'open' | 'answered' | 'cancelled' | 'expired';

/** A question of an agent as its row has it. Times are by the database's clock. */
export interface InteractionRow {
  readonly pk: number;
  readonly stream_id: number;
  readonly session_pk: number;
  /** What clients answer under; never used twice in a session. */
  readonly request_id: string;
  /** What the agent's runtime calls it. */
  readonly runtime_id: string;
  readonly generation: number;
  readonly kind: string;
  readonly prompt: string;
  readonly options: readonly InteractionOption[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: InteractionStatus;
  /** The id of the chosen option, or the word that was said where none is offered. */
  readonly action: string | null;
  readonly answer: { readonly text?: string; readonly metadata?: Readonly<Record<string, string>>; readonly said?: string } | null;
  readonly answered_by: string | null;
  readonly applied: boolean;
  readonly opened_rev: number;
  readonly closed_rev: number | null;
  readonly opened_at: Date;
  readonly closed_at: Date | null;
}

/** A question as a runtime puts it. */
export interface NewInteraction {
  /** The runtime's id. Put again while it is open, it is the same question. */
  readonly requestId: string;
  readonly kind: string;
  readonly prompt: string;
  readonly options: readonly InteractionOption[];
  readonly metadata?: Readonly<Record<string, string>>;
}
