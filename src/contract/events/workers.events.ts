import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const WorkerOperationEventPayload = contract(
  'WorkerOperationEventPayload',
  z.strictObject({
    duration_ms: int64,
    finished_at: dateTime,
    op_id: z.string().describe('Names the operation.'),
    operation: z.string().describe('What was done.'),
    result: z.string().describe('What came of it.'),
    started_at: dateTime,
    agent_name: z.string().optional(),
    bead_id: z.string().optional(),
    cache_creation_tokens: int64.optional(),
    cache_read_tokens: int64.optional(),
    completion_tokens: int64.optional().describe('Tokens that came out of the model.'),
    cost_usd_estimate: z.number().optional().describe('What it cost, in US dollars, as far as that is known.'),
    delivered: z.boolean().optional().describe('Whether the agent got it.'),
    error: z.string().optional(),
    latency_ms: int64.optional().describe('How long the first answer took, in milliseconds.'),
    model: z.string().optional(),
    prompt_sha: z.string().optional().describe('The SHA-256 of the prompt.'),
    prompt_tokens: int64.optional().describe('Tokens that went into the model.'),
    prompt_version: z.string().optional().describe('The version of the prompt.'),
    provider: z.string().optional(),
    queued: z.boolean().optional(),
    run_id: z.string().optional(),
    session_id: z.string().optional(),
    session_name: z.string().optional(),
    template: z.string().optional(),
    transport: z.string().optional(),
    unpriced: z.boolean().optional().describe('True when nobody knows what it cost.'),
  }),
  'What an agent did in a turn, and what that used.',
);

export const WorkerOperation = defineEvent(
  'worker.operation',
  1,
  WorkerOperationEventPayload,
  'Something was done with a session: started, told, stopped; with tokens and cost of a turn.',
);
