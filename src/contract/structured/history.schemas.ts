import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';

/** What a structured answer says about the conversation as a whole. */
export const Continuity = contract(
  'SessionStructuredContinuity',
  z.strictObject({
    status: z.string().describe('Whether the transcript is complete.'),
    compaction_count: int64.optional().describe('How often the agent has shortened its context.'),
    has_branches: z.boolean().optional().describe('True when the conversation was taken up again from an earlier point.'),
    note: z.string().optional().describe('What is missing, for people.'),
  }),
  'Whether the transcript is whole.',
);

export const Cursor = contract(
  'SessionStructuredCursor',
  z.strictObject({
    resume_token: z.string().describe('What a stream goes on from.'),
    after_entry_id: z.string().optional().describe('The entry up to which it was read.'),
  }),
  'Where the answer ends in the transcript.',
);

export const Diagnostic = contract(
  'SessionStructuredDiagnostic',
  z.strictObject({
    code: z.string(),
    count: int64.optional().describe('How often.'),
    message: z.string().optional(),
  }),
  'Something in the transcript that could not be understood.',
);

export const Generation = contract(
  'SessionStructuredGeneration',
  z.strictObject({
    id: z.string().describe('Names the process that writes it.'),
    observed_at: z.string().optional().describe('When it was seen first. RFC 3339 in UTC.'),
  }),
  'The process that writes the transcript.',
);

export const TailState = contract(
  'SessionStructuredTailState',
  z.strictObject({
    activity: z.string().describe('`in_turn` while the agent works, otherwise `idle`.'),
    degraded: z.boolean().optional().describe('True when the end of the transcript may be missing.'),
    degraded_reason: z.string().optional().describe('Why it may be.'),
    last_entry_id: z.string().optional().describe('The id of the last entry.'),
    open_tool_call_ids: z
      .array(z.string())
      .nullable()
      .optional()
      .describe('Calls of tools that have no answer yet. Null is the same as none.'),
    pending_interaction_ids: z.array(z.string()).nullable().optional().describe('Questions that are open. Null is the same as none.'),
  }),
  'How the conversation is at its end.',
);

export const History = contract(
  'SessionStructuredHistory',
  z.strictObject({
    continuity: Continuity,
    cursor: Cursor,
    generation: Generation,
    tail_state: TailState,
    transcript_stream_id: z.string().describe('Names the transcript that positions belong to.'),
    diagnostics: z.array(Diagnostic).nullable().optional().describe('What could not be understood. Null is the same as nothing.'),
    gc_session_id: z.string().optional().describe('The id of the session.'),
    logical_conversation_id: z.string().optional().describe('Names the conversation over all processes.'),
    provider_session_id: z.string().optional().describe('The id that the agent gives the conversation.'),
  }),
  'The conversation as a whole.',
);

export type History = z.infer<typeof History>;
