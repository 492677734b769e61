import { z } from 'zod';
import { queryText } from '../../../../contract/query.js';
import { contract, demanded } from '../../../../contract/registry.js';
import { instant, int64, text } from '../../../../contract/scalars.js';
import { BOUNDS, ConversationRef, metadata, schemaVersion } from '../conversations/conversations.schemas.js';

export const BindingStatus = contract('BindingStatus', z.enum(['active', 'ended']), 'Whether a binding counts.');

export const SessionBindingRecord = contract(
  'SessionBindingRecord',
  z.strictObject({
    ID: z.string(),
    SchemaVersion: schemaVersion,
    Conversation: ConversationRef,
    SessionID: z.string().meta({ description: 'Empty for a binding to an agent.' }),
    SessionName: z.string(),
    AgentName: z.string().describe('The configured name. Empty for a binding to a session.'),
    Status: BindingStatus,
    BoundAt: z.string().describe('Since when it is bound. RFC 3339 in UTC.'),
    ExpiresAt: z.string().nullable().describe('When it ends by itself. RFC 3339 in UTC; null: it does not.'),
    BindingGeneration: int64.meta({ description: 'Counts the bindings of the conversation. What an older one may publish is refused.' }),
    Metadata: z.record(z.string(), z.string()),
  }),
  'Who answers in a conversation: one session, or the session of a configured name, which is started when it is written to.',
);
export type SessionBindingRecord = z.infer<typeof SessionBindingRecord>;

export const ListBodySessionBindingRecord = contract(
  'ListBodySessionBindingRecord',
  z.strictObject({
    items: z.array(SessionBindingRecord).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of bindings.',
);
export type ListBodySessionBindingRecord = z.infer<typeof ListBodySessionBindingRecord>;

export const BindingsQuery = z.strictObject({
  session_id: queryText({ max: BOUNDS.session }).describe('The id, name or alias of a session, or a configured name.'),
  cursor: queryText({ max: 128 }),
});
export type BindingsQuery = z.infer<typeof BindingsQuery>;

const target = text.max(BOUNDS.session);

export const ExtMsgBindInputBody = contract(
  'ExtMsgBindInputBody',
  z.strictObject({
    conversation: demanded(ConversationRef.optional().describe('The conversation.')),
    session_id: target.optional().meta({ description: 'The id, name or alias of a session that is there. Instead of `agent_name`.' }),
    agent_name: target.optional().meta({ description: 'A configured named session, also one that does not run.' }),
    replace: z.boolean().optional().meta({ description: 'Hand the conversation over from whoever has it.' }),
    expires_at: instant.optional().meta({ description: 'The binding ends then by itself. Binding again without it clears it.' }),
    metadata: metadata.optional(),
  }),
  'Who is to answer in a conversation.',
);
export type ExtMsgBindInput = z.infer<typeof ExtMsgBindInputBody>;

export const ExtMsgUnbindInputBody = contract(
  'ExtMsgUnbindInputBody',
  z.strictObject({
    conversation: ConversationRef.optional().describe('Only in this conversation. One member at least must be there.'),
    session_id: target.optional().describe('Only of this session.'),
    agent_name: target.optional().describe('Only of this configured name.'),
  }),
  'Which bindings are to end.',
);
export type ExtMsgUnbindInput = z.infer<typeof ExtMsgUnbindInputBody>;

export const ExtMsgUnbindBody = contract(
  'ExtMsgUnbindBody',
  z.strictObject({ unbound: z.array(SessionBindingRecord).nullable().describe('The bindings that have ended. Null is the same as none.') }),
  'The bindings that have ended.',
);
export type ExtMsgUnbindBody = z.infer<typeof ExtMsgUnbindBody>;
