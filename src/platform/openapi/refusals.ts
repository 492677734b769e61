import { STATUS_CODES } from 'node:http';

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

const CONTENT = { 'application/problem+json': { schema: { $ref: '#/components/schemas/ErrorModel' } } };

const nameOf = (status: string): string => (status === 'default' ? 'Problem' : STATUS_CODES[status]!.replace(/[^A-Za-z]/g, ''));

/** Every shared answer by the name of its component. */
export const REFUSALS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(MEANING).map(([status, description]) => [
    nameOf(status),
    { description, headers: { ...REQUEST_ID, ...HEADERS[status] }, content: CONTENT },
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
