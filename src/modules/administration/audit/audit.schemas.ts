import { z } from 'zod';
import { queryEnum, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';

const text = z.string().nullable();

export const OUTCOMES = ['accepted', 'refused', 'failed'] as const;
export type AuditOutcome = (typeof OUTCOMES)[number];

export const AuditRecordResponse = contract(
  'AuditRecordResponse',
  z.strictObject({
    time: dateTime.describe('When it was asked. RFC 3339 in UTC.'),
    count: int64.meta({ description: 'Requests that the record tells of: more than one when they were too many to be told one by one.' }),
    last_time: dateTime.nullable().meta({ description: 'Of the last of several.' }),
    request_id: text.meta({ description: 'As in `X-SVC-Request-Id`; null for several.' }),
    actor: text.meta({ description: 'The name of the key, or the one that the session works under; null for nobody.' }),
    key_id: text.describe('The id of the key. Null for a session, and for nobody.'),
    session_id: text.describe('The session whose process called. Null when none did.'),
    session_city: text.describe('The city of that session.'),
    address: text.meta({ description: 'Of whoever connected: of the last proxy, when there is one.' }),
    operation: text.meta({ description: 'The operation id of the OpenAPI document; null when those of several were counted together.' }),
    method: text.describe('The HTTP method. Null when requests of several were counted together.'),
    path: text.meta({ description: 'The template of the path.' }),
    city: text.describe('The city of the path. Null when there is none in it.'),
    ids: z.record(z.string(), z.string()).meta({ description: 'The other parameters of the path, by their names.' }),
    outcome: z.enum(OUTCOMES).meta({ description: '`failed`: with 5xx; whether something was changed may be open.' }),
    status: int64.describe('The HTTP status of the answer.'),
    code: text.meta({ description: 'Of the problem that the request was refused with.' }),
    reason: text.meta({ description: 'Why nobody was let in.' }),
    operation_request_id: text.meta({ description: 'Of what goes on in the background: the `request_id` of its events.' }),
  }),
  'Who asked for what, and what came of it. Members that do not apply are null.',
);
export type AuditRecordResponse = z.infer<typeof AuditRecordResponse>;

export const ListBodyAuditRecord = contract(
  'ListBodyAuditRecord',
  z.strictObject({
    items: z.array(AuditRecordResponse).nullable().describe('The records of this page, the newest first.'),
    next_cursor: z.string().optional(),
  }),
  'A page of the audit log.',
);
export type ListBodyAuditRecord = z.infer<typeof ListBodyAuditRecord>;

const filters = {
  city: queryText({ max: 200 }).describe('Only what was done in this city, or to it.'),
  key: queryText({ max: 200 }).describe('Only of this key, by its id or its name, or of this name of a session.'),
  operation: queryText({ max: 200 }).describe('Only this operation id.'),
  outcome: queryEnum(OUTCOMES),
};

export const AuditQuery = z.strictObject({
  ...filters,
  request_id: queryText({ max: 64 }).describe('Only of this request, or the one that began this operation.'),
  since: queryText({ max: 64 }).describe('A duration before now such as 1h, or a time.'),
  until: queryText({ max: 64 }).describe('Likewise; what is earlier.'),
  limit: queryInt({ min: 0, max: 1_000, default: 100 }),
  cursor: queryText({ max: 500 }),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditStreamQuery = z.strictObject({ ...filters, after: queryText({ max: 500 }).describe('The id of a frame.') });
export type AuditStreamQuery = z.infer<typeof AuditStreamQuery>;
