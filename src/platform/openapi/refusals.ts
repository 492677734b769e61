import { STATUS_CODES } from 'node:http';
import { PROBLEMS, type ProblemName } from '../../contract/problems.js';

/**
 * The answers that operations share: each is one component, to which they refer. What is an operation's own, the codes of its problems, stands
 * beside the reference as its description.
 */
interface Answer {
  readonly description?: string;
  readonly $ref?: string;
}
type Responses = Record<string, unknown>;

const REQUEST_ID = { 'X-SVC-Request-Id': { $ref: '#/components/headers/X-SVC-Request-Id' } };
const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds after which the request may be repeated.', schema: { type: 'integer', minimum: 0 } },
};
const QUOTA = 'Structured as draft-ietf-httpapi-ratelimit-headers says';
const QUOTAS = {
  RateLimit: { description: `${QUOTA}: what is left of the limit, and for how many seconds.`, schema: { type: 'string' } },
  'RateLimit-Policy': { description: `${QUOTA}: the limit, of a \`key\` or a \`city\`.`, schema: { type: 'string' } },
};
const HEADERS: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': { description: 'Says that a key is wanted.', schema: { type: 'string' } } },
  429: { ...RETRY_AFTER, ...QUOTAS },
  503: RETRY_AFTER,
};

const MEANING: Readonly<Record<string, string>> = {
  400: 'The request cannot be understood, or asks for something that is not there to be asked for.',
  401: 'No key was shown, or not a good one.',
  403: 'The key may not do this, or the header `X-SVC-Request` is missing.',
  404: 'What the path names is not there, or the key may not see it.',
  409: 'Something is in a state in which this cannot be done.',
  410: 'The position of the log is not kept any more.',
  412: 'The revision of `If-Match` is not the current one. Nothing happened.',
  413: 'The body is too large.',
  414: 'The target is too long.',
  415: 'The body is not of the media type that the operation takes.',
  422: 'The request can be read and is not valid: `errors` says where.',
  429: 'Too many requests of a key, or of all keys and sessions of a city together, or too many streams open, at this replica.',
  500: 'The service failed. The log has the reason under `X-SVC-Request-Id`.',
  501: 'What was asked for is not there in this service, or in the provider.',
  502: 'What the service asks for this did not answer.',
  503: 'The service cannot answer now. The request may be repeated.',
  default: 'Any other problem, such as a host that is not served.',
};

/** What an answer of each status may say: the problem, and its words. */
const SAID: Readonly<Record<string, readonly [ProblemName, string, object?]>> = {
  400: ['invalid_cursor', 'the cursor is not one of this list'],
  401: ['unauthorized', 'an API key is required: Authorization: Bearer svc_…'],
  403: ['csrf', 'X-SVC-Request header required on mutation endpoints'],
  404: ['city_not_found', 'city not found or not running: my-city'],
  409: ['wrong_state', 'the bead is closed'],
  410: ['cursor_expired', 'the log begins at 4001'],
  412: ['revision_mismatch', 'the bead is at revision 4'],
  413: ['payload_too_large', 'the body is larger than 1 MiB'],
  414: ['uri_too_long', 'the target is longer than 16 KiB'],
  415: ['unsupported_media_type', 'the body must be application/json'],
  422: ['validation_failed', 'body.title is required', { errors: [{ message: 'is required', location: 'body.title' }] }],
  429: ['rate_limited', 'the key has made too many requests'],
  500: ['internal', 'internal error'],
  501: ['not_implemented', 'this service has no such thing'],
  502: ['bad_gateway', 'the repository did not answer'],
  503: ['unavailable', 'the database does not answer'],
  default: ['host_not_allowed', 'this host is not served here'],
};

function content(status: string): object {
  const [name, words, more] = SAID[status]!;
  const { code, prefix, title, status: number } = PROBLEMS[name];
  const detail = `${prefix}: ${words}`;
  const example = {
    type: `urn:supervisor:error:${code}`,
    title,
    status: number,
    detail,
    instance: 'urn:supervisor:request:0123456789abcdef',
    ...more,
    code,
  };
  return { 'application/problem+json': { schema: { $ref: '#/components/schemas/ErrorModel' }, example } };
}

const nameOf = (status: string): string => (status === 'default' ? 'Problem' : STATUS_CODES[status]!.replace(/[^A-Za-z]/g, ''));

/** Every shared answer by the name of its component. */
export const REFUSALS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(MEANING).map(([status, description]) => [
    nameOf(status),
    { description, headers: { ...REQUEST_ID, ...HEADERS[status] }, content: content(status) },
  ]),
);

/** Puts references in the places of what operations share. */
export function shareRefusals(responses: Responses): void {
  for (const status of Object.keys(responses)) {
    if (!(status in MEANING)) continue;
    const { description: codes } = responses[status] as Answer;
    const description = codes === undefined || codes === '' ? {} : { description: `${MEANING[status]!} ${codes}` };
    responses[status] = { $ref: `#/components/responses/${nameOf(status)}`, ...description };
  }
}
