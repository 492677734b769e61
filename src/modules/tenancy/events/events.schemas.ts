import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, seq } from '../../../contract/scalars.js';
import { blockingRead, queryBool, queryEnum, queryInt, queryList, queryText } from '../../../contract/query.js';

/** Of the name of an event's kind. */
export const EVENT_KIND_MAX = 255;

export const EventEmitRequest = contract(
  'EventEmitRequest',
  z.strictObject({
    type: z
      .string()
      .min(1)
      .max(EVENT_KIND_MAX)
      .describe(
        'The kind of event. A known kind has a payload of its own shape; any other name is a custom kind. Kinds that the supervisor records itself are refused.',
      ),
    actor: z.string().min(1).max(255).describe('Who says it. A session says its own name.'),
    subject: z.string().optional().describe('What it is about, such as an id.'),
    message: z.string().optional().describe('One line for people.'),
    payload: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'The facts: for a known kind what its schema asks for, for a custom one any JSON object. What a session is like (`session` of a `session.*` kind) is told by the supervisor alone: it is left out of a known kind, and refused in a custom one.',
      ),
  }),
  'An event to be recorded.',
);
export type EventEmitRequest = z.infer<typeof EventEmitRequest>;

export const EventEmitOutputBody = contract(
  'EventEmitOutputBody',
  z.strictObject({
    status: z.string().describe('Always `recorded`.'),
    seq: seq.optional().describe('The position of the event in the log of the city.'),
  }),
  'The event is recorded.',
);
export type EventEmitOutputBody = z.infer<typeof EventEmitOutputBody>;

export const EventRotateAnchor = contract(
  'EventRotateAnchor',
  z.strictObject({
    seq: seq.describe('The position of the event that says so.'),
    type: z.string().describe('Always `events.rotated`.'),
    ts: dateTime.describe('When that was. RFC 3339 in UTC.'),
  }),
  'The event that says so.',
);
export const EventRotateArchive = contract(
  'EventRotateArchive',
  z.strictObject({
    path: z.string().describe('The name of the archive.'),
    first_seq: seq.describe('The position of its first event.'),
    last_seq: seq.describe('The position of its last event.'),
    compression_status: z.enum(['pending', 'complete']).describe('Whether the archive is packed by now.'),
  }),
  'The part of the log that was put away.',
);
export const EventRotateResponse = contract(
  'EventRotateResponse',
  z.strictObject({
    rotated: z.boolean().describe('False when there was nothing to put away.'),
    reason: z.string().optional().describe('Why nothing was put away.'),
    archive: EventRotateArchive.optional(),
    anchor_event: EventRotateAnchor.optional(),
  }),
  'What was put away.',
);
export type EventRotateResponse = z.infer<typeof EventRotateResponse>;

const MAX_MATCHES = 20;
const match = z
  .string()
  .max(4096)
  .regex(/^[^=]+=/, 'must be key=value with a key');

const filters = {
  type: queryText(),
  actor: queryText(),
  subject: queryText(),
  since: queryText(),
  until: queryText(),
  payload_match: z.preprocess((v) => (typeof v === 'string' ? [v] : v), z.array(match).max(MAX_MATCHES)).optional(),
  cursor: queryText({ max: 1 << 14 }),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
};

export const CityEventsQuery = z.strictObject({
  ...filters,
  after_seq: queryText(),
  ...blockingRead,
});
export type CityEventsQuery = z.infer<typeof CityEventsQuery>;

export const SupervisorEventsQuery = z.strictObject({
  ...filters,
  // A page token may name as many cities as a position does.
  cursor: queryText({ max: 1 << 20 }),
  after_cursor: queryText({ max: 1 << 20 }),
  cities: queryList(),
});
export type SupervisorEventsQuery = z.infer<typeof SupervisorEventsQuery>;

const { cursor: _, limit: __, ...conditions } = filters;
const histogram = {
  ...conditions,
  since: queryText().describe('Where it begins: a duration before now, `24h` unless given.'),
  until: queryText().describe('Where it ends: a duration before now. Absent: now.'),
  bucket: queryText().describe('How long a bucket is, such as `15m`: 1s at least. Absent: so that there are a hundred at the most.'),
  by: queryEnum(['type', 'actor']).describe('Tells those apart that are most.'),
};
export const CityHistogramQuery = z.strictObject(histogram);
export type CityHistogramQuery = z.infer<typeof CityHistogramQuery>;
export const SupervisorHistogramQuery = z.strictObject({ ...histogram, cities: queryList() });
export type SupervisorHistogramQuery = z.infer<typeof SupervisorHistogramQuery>;

const HistogramPoint = contract(
  'EventHistogramPoint',
  z.strictObject({
    at: dateTime.describe('When the bucket begins. RFC 3339 in UTC.'),
    count: int64.describe('How many events there are in it.'),
    of: z.string().optional().describe('With `by`: the kind, or the actor.'),
    others: z.boolean().optional().describe('True for all those together that are not told apart.'),
  }),
  'How many events there are in a bucket of time.',
);
export const EventHistogramBody = contract(
  'EventHistogramBody',
  z.strictObject({
    since: dateTime.describe('When the first bucket begins. RFC 3339 in UTC.'),
    until: dateTime.describe('Where the last one ends. RFC 3339 in UTC.'),
    bucket_s: z
      .number()
      .describe('How long a bucket is, in seconds: longer than asked for where a key that is limited to many cities asks for many.'),
    points: z.array(HistogramPoint).describe('The oldest first; of a bucket those that are most in all. What has none is left out.'),
    total: int64,
    total_is_estimate: z
      .boolean()
      .optional()
      .describe('True when there are too many events to look at each: then the counts are estimates, from a part of them.'),
  }),
  'How many events there are over time.',
);
export type EventHistogramBody = z.infer<typeof EventHistogramBody>;

export const RotateQuery = z.strictObject({ wait: queryBool().describe('Answer when the archive is packed.') });
export type RotateQuery = z.infer<typeof RotateQuery>;
