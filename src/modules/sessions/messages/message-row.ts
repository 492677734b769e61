/** How a message wants to be delivered; none of them but `interrupt_now` ever ends a turn early. */
export const INTENTS = ['default', 'follow_up', 'interrupt_now'] as const;
export type MessageIntent = (typeof INTENTS)[number];

/** Where a message comes from; it decides which operation, if any, ends with it. */
export type MessageSource = 'create' | 'message' | 'submit' | 'wait' | 'nudge' | 'external';

export const MESSAGE_STATUSES = ['queued', 'in_flight', 'delivered', 'unconfirmed', 'failed', 'cancelled', 'expired'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** A message as its row has it. Times are by the database's clock. */
export interface MessageRow {
  readonly pk: number;
  readonly stream_id: number;
  readonly session_pk: number;
  readonly id: string;
  readonly intent: MessageIntent;
  readonly body: string;
  readonly source: MessageSource;
  /** What it is about: the id of a wait, say. */
  readonly reference: string | null;
  /** Who sent it, as events name their actors. */
  readonly sender: string;
  /** Meant for this conversation only; null for whichever is current. */
  readonly epoch: number | null;
  /** The operation that ends with its delivery. */
  readonly request_id: string | null;
  readonly status: MessageStatus;
  /** The process that it was given to. */
  readonly generation: number | null;
  readonly attempts: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly created_at: Date;
  readonly deliver_after: Date;
  readonly expires_at: Date;
  readonly ended_at: Date | null;
}

/** A message as it is shown. */
export interface ShownMessage extends MessageRow {
  /** How the turn that it began has ended; null while that goes on, and without one. */
  readonly stop_reason: string | null;
}

/** A message that has ended, or is about to, without its text: it may have a megabyte, and a queue many of them. */
export type EndedMessage = Omit<MessageRow, 'body'>;

export interface NewMessage {
  readonly body: string;
  readonly source: MessageSource;
  readonly sender: string;
  readonly intent?: MessageIntent;
  readonly reference?: string;
  /** Deliver it in this conversation or not at all. */
  readonly epoch?: number;
  readonly requestId?: string;
  /** Milliseconds to wait before it may be delivered. */
  readonly delayMs?: number;
  /** Milliseconds after which it is dropped undelivered; 24 hours unless said. */
  readonly lifetimeMs?: number;
}

/** How a message ended other than by its delivery. */
export type DroppedStatus = 'unconfirmed' | 'failed' | 'cancelled' | 'expired';

export interface Dropped {
  readonly status: DroppedStatus;
  /** The operation's `error_code`. */
  readonly code: string;
  readonly message: string;
}
