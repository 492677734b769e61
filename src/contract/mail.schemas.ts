import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64 } from './scalars.js';

export const Message = contract(
  'Message',
  z.strictObject({
    body: z.string(),
    created_at: dateTime.describe('When it was sent. RFC 3339 in UTC.'),
    from: z.string().describe('Who sent it.'),
    id: z.string(),
    read: z.boolean().describe('Whether it has been read.'),
    subject: z.string(),
    to: z.string().describe('Who gets it.'),
    cc: z.array(z.string()).nullable().optional(),
    priority: int64.optional(),
    reply_to: z.string().optional().describe('The message that it answers.'),
    rig: z.string().optional(),
    thread_id: z.string().optional().describe('The thread: the id of its first message.'),
  }),
  'A message between people and agents.',
);

export type Message = z.infer<typeof Message>;
