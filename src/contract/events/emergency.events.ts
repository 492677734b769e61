import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { defineEvent } from './define.js';

/** Its map is a component too: in what some generators make of `Record`, TypeScript's own type of that name is hidden. */
export const EmergencyRecord = contract(
  'Record',
  z.strictObject({
    actor: z.string(),
    created_at: dateTime,
    id: z.string(),
    message: z.string().describe('What is wrong.'),
    severity: z.string().describe('How bad it is.'),
    hostname: z.string().optional(),
    metadata: contract('RecordMetadata', z.record(z.string(), z.string()), 'Texts by keys, for whoever signaled it.').optional(),
    ref_bead: z.string().optional().describe('The bead that it is about.'),
    source_path: z.string().optional().describe('The file from which it was said.'),
    source_pid: int64.optional().describe('The id of the process that said it.'),
  }),
  'An emergency that somebody has signaled.',
);

export const EmergencySignaled = defineEvent(
  'emergency.signaled',
  1,
  EmergencyRecord,
  'Somebody has called an emergency. Known for clients; nothing here emits it.',
);
export const EmergencyAcked = defineEvent(
  'emergency.acked',
  1,
  EmergencyRecord,
  'Somebody has taken note of an emergency. Known for clients; nothing here emits it.',
);
