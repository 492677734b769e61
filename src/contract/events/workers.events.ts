import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const WorkerOperationEventPayload = contract(
  'WorkerOperationEventPayload',
  z.strictObject({
    duration_ms: int64,
    finished_at: dateTime,
    op_id: z.string(),
    operation: z.string(),
    result: z.string(),
    started_at: dateTime,
    agent_name: z.string().optional(),
    bead_id: z.string().optional(),
    cache_creation_tokens: int64.optional(),
    cache_read_tokens: int64.optional(),
    completion_tokens: int64.optional(),
    cost_usd_estimate: z.number().optional(),
    delivered: z.boolean().optional(),
    error: z.string().optional(),
    latency_ms: int64.optional(),
    model: z.string().optional(),
    prompt_sha: z.string().optional(),
    prompt_tokens: int64.optional(),
    prompt_version: z.string().optional(),
    provider: z.string().optional(),
    queued: z.boolean().optional(),
    run_id: z.string().optional(),
    session_id: z.string().optional(),
    session_name: z.string().optional(),
    template: z.string().optional(),
    transport: z.string().optional(),
    unpriced: z.boolean().optional(),
  }),
);

export const WorkerOperation = defineEvent('worker.operation', 1, WorkerOperationEventPayload);
