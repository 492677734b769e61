import type { Message } from '../../../contract/mail.schemas.js';

/** A message as its row stands. */
export interface MessageRecord {
  readonly id: string;
  /** The tag that its sender gave; empty without one. */
  readonly rig: string;
  readonly subject: string;
  readonly thread_id: string;
  readonly sender: string;
  readonly sender_principal: string | null;
  readonly read: boolean;
  /** How it went; null while it is open. What was `swept` went by its age and can still be fetched and answered. */
  readonly archived_as: 'archived' | 'deleted' | 'swept' | null;
  /** As clients see it. */
  readonly snapshot: Message;
}

/** Whose mailbox it goes to. */
export interface Recipient {
  /** Stable: `human` or `agent:<canonical name>`. */
  readonly principal: string;
  readonly shown: string;
}

/** The mailbox of people. */
export const HUMAN: Recipient = Object.freeze({ principal: 'human', shown: 'human' });

/** Who wrote it; without a principal nobody can answer. Of people it is shown who of them. */
export interface Sender {
  readonly principal: string | undefined;
  readonly shown: string;
}

export interface NewMessage {
  readonly rig: string;
  readonly thread: string;
  readonly replyTo?: string | undefined;
  readonly recipient: Recipient;
  readonly sender: Sender;
  readonly subject: string;
  readonly body: string;
  readonly priority?: number | undefined;
  readonly cc?: readonly string[] | undefined;
}
