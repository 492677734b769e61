import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const SlingBatchSucceededPayload = contract(
  'SlingBatchSucceededPayload',
  z.strictObject({
    request_id: z.string(),
    status: z.enum(['slung', 'partial', 'refused']).describe('`slung`; `partial` when some were refused, `refused` when all were.'),
    total: int64.describe('How many beads it was.'),
    slung: int64.describe('How many were slung.'),
    refused: int64.describe('How many were refused.'),
    skipped: int64,
  }),
  'A batch of many slings is done.',
);
export const SlingBatchSucceeded = defineEvent(
  'request.result.sling.batch',
  1,
  SlingBatchSucceededPayload,
  'Each bead of a batch of many slings is slung or refused: its `GET` says which.',
);
