import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime, int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const EmergencyRecord = contract(
  'Record',
  z.strictObject({
    actor: z.string(),
    created_at: dateTime,
    id: z.string(),
    message: z.string(),
    severity: z.string(),
    hostname: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    ref_bead: z.string().optional(),
    source_path: z.string().optional(),
    source_pid: int64.optional(),
  }),
);

export const EmergencySignaled = defineEvent('emergency.signaled', 1, EmergencyRecord);
export const EmergencyAcked = defineEvent('emergency.acked', 1, EmergencyRecord);
