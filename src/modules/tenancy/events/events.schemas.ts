import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { dateTime, seq } from '../../../contract/scalars.js';
import { blockingRead, queryBool, queryInt, queryList, queryText } from '../../../contract/query.js';

export const EventEmitRequest = contract(
  'EventEmitRequest',
  z.strictObject({
    type: z.string().min(1).max(255),
    actor: z.string().min(1).max(255),
    subject: z.string().optional(),
    message: z.string().optional(),
    payload: z.record(z.string(), z.unknown()).optional(),
  }),
);
export type EventEmitRequest = z.infer<typeof EventEmitRequest>;

export const EventEmitOutputBody = contract('EventEmitOutputBody', z.strictObject({ status: z.string(), seq: seq.optional() }));
export type EventEmitOutputBody = z.infer<typeof EventEmitOutputBody>;

export const EventRotateAnchor = contract('EventRotateAnchor', z.strictObject({ seq, type: z.string(), ts: dateTime }));
export const EventRotateArchive = contract(
  'EventRotateArchive',
  z.strictObject({ path: z.string(), first_seq: seq, last_seq: seq, compression_status: z.enum(['pending', 'complete']) }),
);
export const EventRotateResponse = contract(
  'EventRotateResponse',
  z.strictObject({
    rotated: z.boolean(),
    reason: z.string().optional(),
    archive: EventRotateArchive.optional(),
    anchor_event: EventRotateAnchor.optional(),
  }),
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
  after_cursor: queryText({ max: 1 << 20 }),
  cities: queryList(),
});
export type SupervisorEventsQuery = z.infer<typeof SupervisorEventsQuery>;

export const RotateQuery = z.strictObject({ wait: queryBool() });
export type RotateQuery = z.infer<typeof RotateQuery>;
