import { z } from 'zod';
import { contract } from './registry.js';
import { int64 } from './scalars.js';

export const SubmissionCapabilities = contract(
  'SubmissionCapabilities',
  z.strictObject({ supports_follow_up: z.boolean(), supports_interrupt_now: z.boolean() }),
);
export const SessionResponse = contract(
  'SessionResponse',
  z.strictObject({
    attached: z.boolean(),
    created_at: z.string(),
    id: z.string(),
    provider: z.string(),
    running: z.boolean(),
    session_name: z.string(),
    state: z.string(),
    template: z.string(),
    title: z.string(),
    active_bead: z.string().optional(),
    activity: z.string().optional(),
    agent_kind: z.string().optional(),
    alias: z.string().optional(),
    configured_named_session: z.boolean().optional(),
    context_pct: int64.optional(),
    context_window: int64.optional(),
    display_name: z.string().optional(),
    kind: z.string().optional(),
    last_active: z.string().optional(),
    last_nudge_delivered_at: z.string().optional(),
    last_output: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    model: z.string().optional(),
    options: z.record(z.string(), z.string()).optional(),
    pool: z.string().optional(),
    reason: z.string().optional(),
    rig: z.string().optional(),
    submission_capabilities: SubmissionCapabilities.optional(),
    work_dir: z.string().optional(),
  }),
);

export type SubmissionCapabilities = z.infer<typeof SubmissionCapabilities>;
export type SessionResponse = z.infer<typeof SessionResponse>;
