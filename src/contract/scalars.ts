import { z } from 'zod';
import { contract } from './registry.js';

/** A 64-bit counter that always fits a JavaScript safe integer here. */
export const int64 = z.int();
export const seq = z.int().min(0);
/** RFC 3339 with offset; kept as text end to end. */
export const dateTime = z.iso.datetime({ offset: true });

/** A time that can be stored: RFC 3339 within the years 1 to 9999, whatever its offset. */
export const instant = dateTime.refine((value) => {
  const year = new Date(value).getUTCFullYear();
  return !(year < 1 || year > 9999);
}, 'must lie in the years 1 to 9999');

/** An `instant` in UTC, to the microsecond: offsets go further than Postgres takes them. */
export function utc(text: string): string {
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '0';
  return `${new Date(text).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** Any text that can be stored: no NUL, no half of a surrogate pair. */
export const text = z.string().refine((value) => value.isWellFormed() && !value.includes('\0'), 'holds characters that cannot be stored');

/** A title or a subject: a list of blanks shows nothing. */
export const titleOf = (max: number): z.ZodString => text.min(1, { abort: true }).max(max).regex(/\S/, 'must not be blank');

/** Registered city names; never `__supervisor__`, never with `,` or `:` (cursor syntax). */
export const CITY_NAME_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;
export const CITY_NAME_MAX = 63;

/** The supervisor's own stream. */
export const SUPERVISOR_STREAM = '__supervisor__';

/** What was done all the same, and does not have the effect that one may expect. */
export const warnings = z.array(z.string()).optional().meta({ description: 'What the caller should know of what was done all the same.' });

export const OKResponseBody = contract(
  'OKResponseBody',
  z.strictObject({ status: z.string().describe('What was done, as one word: `ok`, `deleted`, …'), warnings }),
  'It is done.',
);
export type OKResponseBody = z.infer<typeof OKResponseBody>;

/** The 202 body of every asynchronous supervisor operation. */
export const AsyncAcceptedResponse = contract(
  'AsyncAcceptedResponse',
  z.strictObject({
    request_id: z.string(),
    event_cursor: z.string().describe('Positions of all logs before the change: to be given as `after_cursor`.'),
    warnings,
  }),
  'It goes on in the background: one event of `request_id` ends it.',
);
export type AsyncAcceptedResponse = z.infer<typeof AsyncAcceptedResponse>;

/** The 202 body of a city's asynchronous operations. `event_cursor` is the city's position before the change, usable as `after_seq`. */
export const AsyncAcceptedBody = contract(
  'AsyncAcceptedBody',
  z.strictObject({
    status: z.string().describe('Always `accepted`.'),
    request_id: z.string(),
    event_cursor: z.string().describe('The position of the city’s log before the change: to be given as `after_seq`.'),
    session_id: z.string().optional().describe('The session that it is about.'),
  }),
  'It goes on in the background: one event of `request_id` ends it.',
);
export type AsyncAcceptedBody = z.infer<typeof AsyncAcceptedBody>;

export const ErrorDetail = contract(
  'ErrorDetail',
  z.strictObject({
    message: z.string().optional().describe('What is wrong there.'),
    location: z.string().optional().describe('The place in the request: `body.title`, `query.limit`, `path.id` or `header.If-Match`.'),
    value: z.unknown().optional().describe('What stood there, shortened. Absent for secrets and for what is missing.'),
  }),
  'What is wrong at one place of a request.',
);
export const ErrorModel = contract(
  'ErrorModel',
  z.strictObject({
    type: z.string().default('about:blank').describe('`urn:supervisor:error:` and the `code`.'),
    title: z.string().optional().describe('The kind of the problem, for people.'),
    status: int64.optional().describe('The HTTP status, once more.'),
    detail: z.string().optional().describe('What went wrong this time, for people. It begins with a short word and a colon.'),
    instance: z.string().optional().describe('`urn:supervisor:request:` and the `X-SVC-Request-Id` of the answer.'),
    errors: z
      .array(ErrorDetail)
      .nullable()
      .optional()
      .describe('The members that are wrong, where the request is. Null is the same as absent.'),
    code: z.string().optional().describe('What programs decide by. Codes are never renamed.'),
  }),
  'RFC 9457 problem details. Decide by `code`; `detail` is for people and begins with a short prefix and a colon.',
);
