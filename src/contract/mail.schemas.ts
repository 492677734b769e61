import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64 } from './scalars.js';

export const Message = contract(
  'Message',
  z.strictObject({
    body: z.string(),
    created_at: dateTime,
    from: z.string(),
    id: z.string(),
    read: z.boolean(),
    subject: z.string(),
    to: z.string(),
    cc: z.array(z.string()).nullable().optional(),
    priority: int64.optional(),
    reply_to: z.string().optional(),
    rig: z.string().optional(),
    thread_id: z.string().optional(),
  }),
);

export type Message = z.infer<typeof Message>;
