import { hash } from 'node:crypto';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import type { ConversationKind, ConversationRef } from './conversations.schemas.js';

/** A conversation as it is compared: every part is there, and as it is stored. */
export interface Conversation {
  readonly scope_id: string;
  readonly provider: string;
  readonly account_id: string;
  readonly conversation_id: string;
  /** '' for none. */
  readonly parent_conversation_id: string;
  readonly kind: ConversationKind;
}

/** A conversation as its row has it. */
export interface ConversationRow extends Conversation {
  readonly pk: number;
  readonly stream_id: number;
  /** The sequence of its last entry; 0 for none. */
  readonly head: number;
  /** That of the first that is kept. */
  readonly earliest: number;
  /** The highest generation of a binding that there has been. */
  readonly generation: number;
}

/** Which status a conversation that is none has, where it stands. */
export interface Refusing {
  readonly as: 'invalid_request' | 'validation_failed';
  readonly at: string;
}

/** @throws ProblemError as said, for a part that is missing */
export function conversationOf(ref: Partial<ConversationRef> | undefined, { as, at }: Refusing): Conversation {
  const part = (name: 'scope_id' | 'provider' | 'account_id' | 'conversation_id'): string => {
    const value = (ref?.[name] ?? '').trim();
    if (value === '') throw problem(as, `extmsg invalid conversation: ${name} required`, { at: `${at}.${name}` });
    return value;
  };
  const scope_id = part('scope_id');
  const provider = normalProvider(part('provider'));
  const account_id = part('account_id');
  const conversation_id = part('conversation_id');
  const kind = ref?.kind;
  if (kind === undefined) throw problem(as, 'extmsg invalid conversation: invalid kind ""', { at: `${at}.kind` });
  return { scope_id, provider, account_id, conversation_id, parent_conversation_id: (ref?.parent_conversation_id ?? '').trim(), kind };
}

export const normalProvider = (provider: string): string => provider.trim().toLowerCase();

/** What the rows of one conversation are found by. */
export const keyOf = (conversation: Conversation): Buffer => hash('sha256', textOf(conversation), 'buffer');

/** All its parts: no other has the same. */
export function textOf({ scope_id, provider, account_id, conversation_id, parent_conversation_id, kind }: Conversation): string {
  return JSON.stringify([scope_id, provider, account_id, conversation_id, parent_conversation_id, kind]);
}

export function toRef({ scope_id, provider, account_id, conversation_id, parent_conversation_id, kind }: Conversation): ConversationRef {
  const parent = parent_conversation_id === '' ? {} : { parent_conversation_id };
  return { scope_id, provider, account_id, conversation_id, ...parent, kind };
}

/** How details name a conversation. */
export const shown = ({ provider, conversation_id }: Pick<Conversation, 'provider' | 'conversation_id'>): string =>
  `${provider}/${conversation_id}`;

/** What events say of a conversation. */
export function factsOf({ provider, account_id, conversation_id, parent_conversation_id, kind }: Conversation): {
  readonly provider: string;
  readonly account_id: string;
  readonly conversation_id: string;
  readonly parent_conversation_id?: string;
  readonly kind: ConversationKind;
} {
  const parent = parent_conversation_id === '' ? {} : { parent_conversation_id };
  return { provider, account_id, conversation_id, ...parent, kind };
}

/** An adapter speaks for its own account. @throws ProblemError forbidden */
export function requireOwn({ adapter }: Principal, { provider, account_id }: Pick<Conversation, 'provider' | 'account_id'>): void {
  if (adapter === undefined || (adapter.provider === provider && adapter.accountId === account_id)) return;
  throw problem('forbidden', `extmsg unauthorized: this token speaks for ${adapter.provider}/${adapter.accountId} only`);
}
