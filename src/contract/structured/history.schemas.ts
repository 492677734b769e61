import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';

/** What a structured answer says about the conversation as a whole. */
export const Continuity = contract(
  'SessionStructuredContinuity',
  z.strictObject({
    status: z.string(),
    compaction_count: int64.optional(),
    has_branches: z.boolean().optional(),
    note: z.string().optional(),
  }),
);

export const Cursor = contract(
  'SessionStructuredCursor',
  z.strictObject({
    resume_token: z.string(),
    after_entry_id: z.string().optional(),
  }),
);

export const Diagnostic = contract(
  'SessionStructuredDiagnostic',
  z.strictObject({
    code: z.string(),
    count: int64.optional(),
    message: z.string().optional(),
  }),
);

export const Generation = contract(
  'SessionStructuredGeneration',
  z.strictObject({
    id: z.string(),
    observed_at: z.string().optional(),
  }),
);

export const TailState = contract(
  'SessionStructuredTailState',
  z.strictObject({
    activity: z.string(),
    degraded: z.boolean().optional(),
    degraded_reason: z.string().optional(),
    last_entry_id: z.string().optional(),
    open_tool_call_ids: z.array(z.string()).nullable().optional(),
    pending_interaction_ids: z.array(z.string()).nullable().optional(),
  }),
);

export const History = contract(
  'SessionStructuredHistory',
  z.strictObject({
    continuity: Continuity,
    cursor: Cursor,
    generation: Generation,
    tail_state: TailState,
    transcript_stream_id: z.string(),
    diagnostics: z.array(Diagnostic).nullable().optional(),
    gc_session_id: z.string().optional(),
    logical_conversation_id: z.string().optional(),
    provider_session_id: z.string().optional(),
  }),
);

export type History = z.infer<typeof History>;
