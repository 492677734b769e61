import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent, NoPayload } from './define.js';

export const ConvoyClosedPayload = contract(
  'ConvoyClosedPayload',
  z.strictObject({
    closed: int64.optional(),
    reason: z.string().optional().describe('Why it was closed, as it stands on the convoy.'),
    total: int64.optional().describe('How many members it had.'),
  }),
  'How many members the convoy had when it closed, how many of them were closed, and why it closed.',
);

export const ConvoyCreated = defineEvent('convoy.created', 1, NoPayload, 'A convoy was made.');
export const ConvoyClosed = defineEvent(
  'convoy.closed',
  1,
  ConvoyClosedPayload,
  'A convoy was closed: with the last of its members, or by somebody.',
);
