import { z } from 'zod';
import { HeartbeatEvent } from './events/envelopes.js';
import { PendingInteraction } from './interactions.schemas.js';
import { contract } from './registry.js';
import { int64 } from './scalars.js';
import { History } from './structured/history.schemas.js';
import { Message } from './structured/messages.schemas.js';

export const PaginationInfo = contract(
  'PaginationInfo',
  z.strictObject({
    has_older_messages: z.boolean().describe('Whether there are older messages than these.'),
    returned_message_count: int64.describe('How many messages the answer has.'),
    total_compactions: int64.describe('How often the agent has shortened its context.'),
    total_message_count: int64.describe('How many messages there are in all.'),
    has_newer_messages: z.boolean().optional().describe('Whether there are newer messages than these.'),
    last_message: z.string().optional().meta({ description: 'The last entry of the answer: the next `after`.' }),
    truncated_before_message: z.string().optional().meta({ description: 'The first entry of an answer that was cut: the next `before`.' }),
  }),
  'Which part of a transcript the answer is.',
);
export type PaginationInfo = z.infer<typeof PaginationInfo>;

export const OutputTurn = contract(
  'OutputTurn',
  z.strictObject({
    role: z.string(),
    text: z.string(),
    id: z.string().optional().meta({ description: 'The entry it is made of, or the first of those. The same id again replaces it.' }),
    status: z.string().optional().meta({ description: '`partial` while it grows; `superseded` when it is to be forgotten.' }),
    timestamp: z.string().optional(),
  }),
  'Something that was said.',
);
export type OutputTurn = z.infer<typeof OutputTurn>;

/** A frame as the agent wrote it: any JSON. */
export const SessionRawMessageFrame = contract('SessionRawMessageFrame', z.unknown(), 'A frame as the agent wrote it: any JSON.');

export const SessionRawEntry = contract(
  'SessionRawEntry',
  z.strictObject({
    id: z.string().describe('Names the entry in the transcript: the same id again replaces it.'),
    status: z.string().describe('`final`, `partial` while it grows, or `superseded` when it is to be forgotten.'),
    frames: int64.describe('How many of the frames belong to it.'),
  }),
  'An entry of the transcript and how many of the frames, in their order, belong to it. The same id again replaces them.',
);
export type SessionRawEntry = z.infer<typeof SessionRawEntry>;

const head = { id: z.string().describe('The id of the session.'), template: z.string(), provider: z.string() };
const paged = { pagination: PaginationInfo.optional() };
const turns = z.array(OutputTurn).nullable();
const raw = { ...head, messages: z.array(SessionRawMessageFrame).nullable(), entries: z.array(SessionRawEntry).optional(), ...paged };
const structured = {
  ...head,
  format: z.literal('structured'),
  schema_version: z.literal('session.structured.v1'),
  history: History,
  structured_messages: z.array(Message),
  ...paged,
};

export const SessionTranscriptConversationResponse = contract(
  'SessionTranscriptConversationResponse',
  z.strictObject({ ...head, format: z.enum(['conversation', 'text']), turns: turns.optional(), ...paged }),
  'A transcript as turns.',
);
export const SessionTranscriptRawResponse = contract(
  'SessionTranscriptRawResponse',
  z.strictObject({ ...raw, format: z.enum(['raw']) }),
  'A transcript as the agent wrote it.',
);
export const SessionTranscriptStructuredResponse = contract(
  'SessionTranscriptStructuredResponse',
  z.strictObject({ ...structured, operation: z.literal('snapshot') }),
  'A transcript as messages whose parts are told apart.',
);
export const SessionTranscriptGetResponse = contract(
  'SessionTranscriptGetResponse',
  z.discriminatedUnion('format', [
    SessionTranscriptConversationResponse,
    SessionTranscriptRawResponse,
    SessionTranscriptStructuredResponse,
  ]),
  'A transcript; `format` says in which form.',
);
export type SessionTranscriptGetResponse = z.infer<typeof SessionTranscriptGetResponse>;

export const SessionStreamMessageEvent = contract(
  'SessionStreamMessageEvent',
  z.strictObject({ ...head, format: z.string(), turns, ...paged }),
  'Turns of a session that is followed.',
);
export const SessionStreamRawMessageEvent = contract(
  'SessionStreamRawMessageEvent',
  z.strictObject({ ...raw, format: z.string() }),
  'Frames of a session that is followed.',
);
export const SessionStreamStructuredMessageEvent = contract(
  'SessionStreamStructuredMessageEvent',
  z.strictObject({
    ...structured,
    operation: z.enum(['snapshot', 'upsert', 'reset']),
    reset_reason: z
      .enum(['resume_invalid', 'stream_changed', 'cursor_invalidated', 'history_rewritten'])
      .optional()
      .describe('Why everything before is to be forgotten; with `reset` only.'),
  }),
  'Messages of a session that is followed.',
);
export const SessionActivityEvent = contract(
  'SessionActivityEvent',
  z.strictObject({ activity: z.string().describe('`in-turn` while the agent works, otherwise `idle`.') }),
  'The session has begun or ended a turn.',
);
export const SessionPendingClearedEvent = contract(
  'SessionPendingClearedEvent',
  z.strictObject({ request_id: z.string().describe('The question that is open no more.') }),
  'A question is open no more.',
);

/** What a stream of a session has in every format. */
export const SessionStreamCommonEvent = contract(
  'SessionStreamCommonEvent',
  z.union([SessionActivityEvent, PendingInteraction, SessionPendingClearedEvent, HeartbeatEvent]),
  'What a stream of a session has in every format.',
);

export const AgentMapping = contract(
  'AgentMapping',
  z.strictObject({
    agent_id: z.string().describe('The id of the sub-agent.'),
    parent_tool_use_id: z.string().describe('The call of a tool by which it was begun.'),
  }),
  'A sub-agent and the call that began it.',
);
export const SessionAgentListResponse = contract(
  'SessionAgentListResponse',
  z.strictObject({ agents: z.array(AgentMapping).nullable().describe('The sub-agents. Null is the same as none.') }),
  'The sub-agents of a session.',
);
export type SessionAgentListResponse = z.infer<typeof SessionAgentListResponse>;
export const SessionAgentGetResponse = contract(
  'SessionAgentGetResponse',
  z.strictObject({
    messages: z.array(z.unknown()).nullable(),
    status: z.string().optional().describe('`running`, `completed` or `failed`.'),
  }),
  'What a sub-agent has said.',
);
export type SessionAgentGetResponse = z.infer<typeof SessionAgentGetResponse>;

export const AgentOutputResponse = contract(
  'AgentOutputResponse',
  z.strictObject({
    agent: z.string(),
    format: z.string(),
    turns,
    session_id: z.string().optional().meta({ description: 'The session that says it; absent when the agent never had one.' }),
    ...paged,
  }),
  'What an agent has said.',
);
export type AgentOutputResponse = z.infer<typeof AgentOutputResponse>;
