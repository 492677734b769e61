import type { Schemas } from '../../api/types.js';
import type { Input, Values } from '../admin/forms.js';

export type Reference = Schemas['ConversationRef'];
/** A conversation as an address has it. */
export type InAddress = {
  readonly [name in 'provider' | 'account' | 'conversation' | 'kind' | 'parent' | 'scope']?: string | undefined;
};

/** Which conversation is meant; undefined while somebody has not said it whole. */
export function referenceOf(city: string, { provider, account, conversation, kind, parent, scope }: InAddress): Reference | undefined {
  if (provider === undefined || conversation === undefined) return undefined;
  return {
    scope_id: scope ?? city,
    provider,
    account_id: account ?? 'default',
    conversation_id: conversation,
    ...(parent === undefined ? {} : { parent_conversation_id: parent }),
    kind: kind === 'dm' || kind === 'thread' ? kind : 'room',
  };
}

export function addressOf(city: string, reference: Reference): InAddress {
  const { scope_id, provider, account_id, conversation_id, parent_conversation_id, kind } = reference;
  return {
    provider,
    conversation: conversation_id,
    ...(account_id === 'default' ? {} : { account: account_id }),
    ...(kind === 'room' ? {} : { kind }),
    ...(parent_conversation_id === undefined || parent_conversation_id === '' ? {} : { parent: parent_conversation_id }),
    ...(scope_id === city ? {} : { scope: scope_id }),
  };
}

export const titleOf = ({ provider, account_id, conversation_id, kind, parent_conversation_id = '' }: Reference): string =>
  `${provider}${account_id === 'default' ? '' : `/${account_id}`}/${parent_conversation_id === '' ? '' : `${parent_conversation_id}/`}${conversation_id} (${kind})`;

/** As the query of a read has it. */
export const queryOf = (reference: Reference): Record<string, string> => ({ ...reference });

export const KINDS = [
  ['room', 'a room'],
  ['dm', 'between two'],
  ['thread', 'a thread of a room'],
] as const;
export const INPUTS: readonly Input[] = [
  { name: 'provider', label: 'Provider', required: true, placeholder: 'slack' },
  { name: 'account', label: 'Account', placeholder: 'default' },
  { name: 'conversation', label: 'Conversation', required: true, placeholder: 'its id at the provider' },
  { name: 'kind', label: 'Kind', choices: KINDS },
  { name: 'parent', label: 'Room of the thread' },
];

export function referenceFrom(city: string, values: Values): Reference {
  const said = (name: string): string | undefined => {
    const value = values[name]?.trim() ?? '';
    return value === '' ? undefined : value;
  };
  const found = referenceOf(city, {
    provider: said('provider'),
    account: said('account'),
    conversation: said('conversation'),
    kind: said('kind'),
    parent: said('parent'),
  });
  if (found === undefined) throw new Error('a conversation has a provider and an id there');
  return found;
}
