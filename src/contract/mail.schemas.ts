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
    subject: z.string().describe('What it is about.'),
    to: z.string().describe('Who gets it.'),
    answerable: z
      .literal(false)
      .optional()
      .describe(
        'Where mail is read, false for what nobody can answer: its sender has no mailbox. Absent: it can be answered, or this is not told.',
      ),
    cc: z.array(z.string()).nullable().optional(),
    priority: int64.optional().describe('How urgent its sender finds it: from 0, the most urgent, to 4. Absent: nothing was said.'),
    reply_to: z.string().optional().describe('The message that it answers.'),
    rig: z.string().optional().describe('The rig that it is about, or the name of the city.'),
    thread_id: z
      .string()
      .optional()
      .describe('The id of the thread, such as `thread-4be01f9c2d77`: answers have that of what they answer.'),
  }),
  'A message between people and agents.',
);

export type Message = z.infer<typeof Message>;
