import { Option, type Command } from 'commander';
import type { Schemas } from '../api.js';

export type Conversation = Schemas['ConversationRef'];

export interface ConversationFlags {
  readonly provider?: string;
  readonly accountId: string;
  readonly conversationId?: string;
  readonly parentConversationId?: string;
  readonly kind: Conversation['kind'];
  readonly scopeId?: string;
}

/** The flags that name a conversation. */
export function withConversation(command: Command): Command {
  return command
    .requiredOption('--provider <name>', 'slack, discord, telegram …')
    .requiredOption('--conversation-id <id>', "the provider's id of it")
    .option('--account-id <id>', 'the account that the adapter speaks for', 'default')
    .option('--parent-conversation-id <id>', 'the room that a thread hangs from')
    .addOption(new Option('--kind <kind>', 'what it is').choices(['dm', 'room', 'thread']).default('dm'))
    .option('--scope-id <name>', 'a namespace within the city (default: its name)');
}

export function conversationOf(flags: ConversationFlags, city: string): Conversation {
  const parent = flags.parentConversationId === undefined ? {} : { parent_conversation_id: flags.parentConversationId };
  return {
    scope_id: flags.scopeId ?? city,
    provider: flags.provider ?? '',
    account_id: flags.accountId,
    conversation_id: flags.conversationId ?? '',
    ...parent,
    kind: flags.kind,
  };
}

/** `slack/C1`, with the account where it is not the usual one. */
export function shown({ provider, account_id: account, conversation_id: id, kind }: Conversation): string {
  return `${provider}/${account === 'default' ? '' : `${account}/`}${id} (${kind})`;
}
