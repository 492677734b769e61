import { z } from 'zod';
import { queryEnum, queryInt, queryList, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';

export const INBOX_KINDS = ['bead', 'mail'] as const;
const kind = z.enum(INBOX_KINDS);

export const InboxEntry = contract(
  'InboxEntry',
  z.strictObject({
    kind: kind.describe('`bead`: work that is assigned to `human`. `mail`: a message to `human` that was not read.'),
    city: z.string(),
    id: z.string().describe('The bead, or the message.'),
    title: z.string().describe('The title of the bead, or the subject of the message.'),
    since: dateTime.describe('When it was made, or sent. RFC 3339 in UTC.'),
    from: z.string().optional().describe('Who has made the bead, or sent the message. Absent: nobody has said.'),
    priority: int64.optional(),
    status: z.string().optional().describe('Of a bead: `open`, or `in_progress`.'),
    thread_id: z.string().optional().describe('Of a message: the thread that it is in.'),
  }),
  'Something that a person is to do, or to read.',
);
export type InboxEntry = z.infer<typeof InboxEntry>;

const InboxCounts = contract(
  'InboxCounts',
  z.strictObject({ bead: int64.describe('How many beads.'), mail: int64.describe('How many messages.') }),
  'How much waits for people, by its kind.',
);

export const InboxRejection = contract(
  'InboxRejection',
  z.strictObject({
    city: z.string(),
    since: dateTime.describe('Since when its files cannot be used. RFC 3339 in UTC.'),
    error: z.string().describe('The first of what is wrong with them; `GET …/config` has all of it.'),
  }),
  'A running city whose files have changed and cannot be used: it goes on with what they were.',
);
export type InboxRejection = z.infer<typeof InboxRejection>;

export const InboxOutputBody = contract(
  'InboxOutputBody',
  z.strictObject({
    event_cursor: z.string().meta({ description: 'From before the items were read: a stream that begins here misses nothing.' }),
    items: z.array(InboxEntry),
    total: int64,
    counts: InboxCounts.describe('What `total` is made of.'),
    total_is_estimate: z.boolean().optional().describe('True when there is more than one answer counts: there is at least so much.'),
    next_cursor: z.string().optional(),
    rejected: z.array(InboxRejection).optional().meta({
      description:
        'Cities whose files somebody has to mend, the oldest first, a hundred at the most. With the first page, unless `kind` is given; absent when there are none.',
    }),
  }),
  'What waits for people in all cities that the caller may see, the oldest first.',
);
export type InboxOutputBody = z.infer<typeof InboxOutputBody>;

export const InboxQuery = z.strictObject({
  cities: queryList(),
  kind: queryEnum(INBOX_KINDS).describe('Only what is of this kind.'),
  limit: queryInt({ min: 1, max: 500, default: 100 }),
  cursor: queryText(),
});
export type InboxQuery = z.infer<typeof InboxQuery>;
