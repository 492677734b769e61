/**
 * The error catalogue. A problem's `code` is what clients decide by, its `type` is `urn:supervisor:error:<code>`; its `detail`
 * is for people and begins with the short prefix of the specification. Kinds that share a code differ in prefix, status or title.
 * Append-only: renaming or removing a code breaks clients.
 */
export interface ProblemKind {
  readonly prefix: string;
  readonly code: string;
  readonly status: number;
  readonly title: string;
  /** Seconds for the Retry-After header: set on kinds that a client may simply repeat. */
  readonly retryAfter?: number;
}

const kind = <S extends number>(
  prefix: string,
  code: string,
  status: S,
  title: string,
  retryAfter?: number,
): ProblemKind & { readonly status: S } =>
  retryAfter === undefined ? { prefix, code, status, title } : { prefix, code, status, title, retryAfter };

export const PROBLEMS = {
  bad_request: kind('bad_request', 'bad-request', 400, 'Bad Request'),
  malformed_json: kind('validation_failed', 'validation-failed', 400, 'Validation Failed'),
  invalid_request: kind('invalid', 'invalid-request', 400, 'Invalid Request'),
  sling_missing_bead: kind('sling_missing_bead', 'sling-missing-bead', 400, 'Bead To Sling Not Found'),
  sling_cross_rig: kind('sling_cross_rig', 'sling-cross-rig', 400, 'Sling Across Rigs'),
  invalid_cursor: kind('invalid_cursor', 'invalid-cursor', 400, 'Invalid Cursor'),
  unauthorized: kind('unauthorized', 'unauthorized', 401, 'Unauthorized'),
  csrf: kind('csrf', 'csrf', 403, 'Cross-Site Request Refused'),
  read_only: kind('read_only', 'read-only', 403, 'Read Only'),
  forbidden: kind('forbidden', 'forbidden', 403, 'Forbidden'),
  origin_not_allowed: kind('origin_not_allowed', 'origin-not-allowed', 403, 'Origin Not Allowed'),
  not_found: kind('not_found', 'not-found', 404, 'Not Found'),
  city_not_found: kind('not_found', 'city-not-found', 404, 'City Not Found'),
  bead_not_found: kind('not_found', 'bead-not-found', 404, 'Bead Not Found'),
  rig_not_found: kind('not_found', 'rig-not-found', 404, 'Rig Not Found'),
  convoy_not_found: kind('not_found', 'convoy-not-found', 404, 'Convoy Not Found'),
  mail_not_found: kind('not_found', 'mail-not-found', 404, 'Message Not Found'),
  wait_not_found: kind('not_found', 'wait-not-found', 404, 'Wait Not Found'),
  agent_not_found: kind('not_found', 'agent-not-found', 404, 'Agent Not Found'),
  provider_not_found: kind('not_found', 'provider-not-found', 404, 'Provider Not Found'),
  patch_not_found: kind('not_found', 'patch-not-found', 404, 'Patch Not Found'),
  pack_not_found: kind('not_found', 'pack-not-found', 404, 'Pack Not Found'),
  formula_not_found: kind('not_found', 'formula-not-found', 404, 'Formula Not Found'),
  run_not_found: kind('not_found', 'run-not-found', 404, 'Run Not Found'),
  workflow_not_found: kind('not_found', 'workflow-not-found', 404, 'Workflow Not Found'),
  molecule_not_found: kind('not_found', 'molecule-not-found', 404, 'Molecule Not Found'),
  order_not_found: kind('not_found', 'order-not-found', 404, 'Order Not Found'),
  scope_not_found: kind('not_found', 'scope-not-found', 404, 'Scope Not Found'),
  extmsg_group_not_found: kind('not_found', 'extmsg-group-not-found', 404, 'Conversation Group Not Found'),
  delivery_not_found: kind('not_found', 'not-found', 404, 'Delivery Not Found'),
  service_not_found: kind('not_found', 'service-not-found', 404, 'Service Not Found'),
  session_not_found: kind('not_found', 'session-not-found', 404, 'Session Not Found'),
  sling_batch_not_found: kind('not_found', 'sling-batch-not-found', 404, 'Batch Not Found'),
  message_not_found: kind('not_found', 'message-not-found', 404, 'Queued Message Not Found'),
  method_not_allowed: kind('method_not_allowed', 'method-not-allowed', 405, 'Method Not Allowed'),
  not_acceptable: kind('not_acceptable', 'not-acceptable', 406, 'Not Acceptable'),
  request_timeout: kind('request_timeout', 'request-timeout', 408, 'Request Timeout'),
  conflict: kind('conflict', 'conflict-wrong-state', 409, 'Conflict'),
  wrong_state: kind('conflict', 'conflict-wrong-state', 409, 'Wrong State Conflict'),
  owned_by_other: kind('conflict', 'conflict-wrong-state', 409, 'Owned By Another'),
  dependency_cycle: kind('conflict', 'conflict-wrong-state', 409, 'Dependency Cycle'),
  sling_refused: kind('conflict', 'conflict-wrong-state', 409, 'Sling Refused'),
  sling_source_conflict: kind('conflict', 'sling-source-workflow-conflict', 409, 'Source Has A Live Run'),
  pack_credential_required: kind('conflict', 'pack-credential-required', 409, 'Pack Credential Required'),
  ambiguous_reference: kind('conflict', 'ambiguous-reference', 409, 'Ambiguous Reference'),
  order_running: kind('conflict', 'order-running', 409, 'Order Is Being Carried Out'),
  operation_in_progress: kind('conflict', 'operation-in-progress', 409, 'Operation In Progress'),
  maintenance_in_progress: kind('maintenance-in-progress', 'operation-in-progress', 409, 'Maintenance In Progress'),
  ambiguous: kind('ambiguous', 'session-conflict', 409, 'Ambiguous Session Name'),
  pending_interaction: kind('pending_interaction', 'session-conflict', 409, 'Session Waits For An Answer'),
  no_pending: kind('no_pending', 'session-conflict', 409, 'Nothing To Answer'),
  invalid_interaction: kind('invalid_interaction', 'session-conflict', 409, 'Another Interaction Is Open'),
  illegal_transition: kind('illegal_transition', 'session-conflict', 409, 'Illegal Transition'),
  transcript_cursor_invalidated: kind(
    'transcript_cursor_invalidated',
    'transcript-cursor-invalidated',
    409,
    'Transcript Cursor Invalidated',
  ),
  idempotency_in_flight: kind('in_flight', 'idempotency-in-flight', 409, 'Idempotency Key In Flight', 1),
  cursor_expired: kind('cursor_expired', 'cursor-expired', 410, 'Cursor Expired'),
  cursor_ahead: kind('cursor_ahead', 'cursor-ahead', 410, 'Cursor Ahead Of The Log'),
  revision_mismatch: kind('revision_mismatch', 'revision-mismatch', 412, 'Revision Mismatch'),
  payload_too_large: kind('payload_too_large', 'payload-too-large', 413, 'Content Too Large'),
  uri_too_long: kind('uri_too_long', 'uri-too-long', 414, 'URI Too Long'),
  unsupported_media_type: kind('validation_failed', 'validation-failed', 415, 'Unsupported Media Type'),
  host_not_allowed: kind('host_not_allowed', 'host-not-allowed', 421, 'Misdirected Request'),
  validation_failed: kind('validation_failed', 'validation-failed', 422, 'Validation Failed'),
  order_rejected: kind('rejected', 'order-rejected', 422, 'Order Rejected'),
  webhook_rejected: kind('rejected', 'webhook-rejected', 422, 'Webhook Rejected'),
  idempotency_mismatch: kind('idempotency_mismatch', 'idempotency-mismatch', 422, 'Idempotency Key Body Mismatch'),
  rate_limited: kind('rate_limited', 'rate-limited', 429, 'Too Many Requests', 1),
  headers_too_large: kind('headers_too_large', 'headers-too-large', 431, 'Request Header Fields Too Large'),
  internal: kind('internal', 'internal', 500, 'Internal Server Error'),
  not_implemented: kind('not_implemented', 'not-implemented', 501, 'Not Implemented'),
  unsupported: kind('unsupported', 'not-implemented', 501, 'Not Supported By The Provider'),
  bad_gateway: kind('bad_gateway', 'bad-gateway', 502, 'Bad Gateway', 30),
  unavailable: kind('unavailable', 'service-unavailable', 503, 'Service Unavailable', 1),
  maintenance_disabled: kind('maintenance_disabled', 'service-unavailable', 503, 'Maintenance Disabled'),
  no_providers: kind('no_providers', 'service-unavailable', 503, 'Service Unavailable', 1),
  provider_not_ready: kind('provider_not_ready', 'service-unavailable', 503, 'Provider Not Ready', 30),
  dependency_missing: kind('dependency_missing', 'service-unavailable', 503, 'Dependency Missing', 30),
} as const satisfies Record<string, ProblemKind>;

export type ProblemName = keyof typeof PROBLEMS;

/** One failing field: `location` is a path such as `body.title` or `query.limit`. */
export interface ProblemField {
  readonly message: string;
  readonly location: string;
  readonly value?: unknown;
}

/** The only way for our code to fail on purpose. The HTTP filter renders it; anything else is an opaque 500. */
export class ProblemError extends Error {
  readonly kind: ProblemKind;
  readonly detail: string;
  readonly errors: readonly ProblemField[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Nobody mends it at the service: it tells of a city, or of who sends to it. */
  readonly ofOthers: boolean;

  constructor(
    readonly problem: ProblemName,
    message: string,
    options: Options = {},
  ) {
    const kind = PROBLEMS[problem];
    super(`${kind.prefix}: ${message}`, { cause: options.cause });
    this.name = 'ProblemError';
    this.kind = kind;
    this.detail = this.message;
    this.errors = options.errors;
    this.headers = options.headers ?? {};
    this.ofOthers = options.ofOthers ?? false;
  }
}

/** Kinds that say what is wrong with a request: each names what, `at` one place or as a list of `errors`. */
export type RequestProblem = { [N in ProblemName]: (typeof PROBLEMS)[N]['status'] extends 400 | 422 ? N : never }[ProblemName];

interface Options {
  readonly errors?: readonly ProblemField[];
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
  readonly ofOthers?: boolean;
}
type Places = { readonly errors: readonly ProblemField[] } | { readonly at: string; readonly value?: unknown };

/**
 * Makes a problem; its `detail` is `<prefix>: <message>`.
 *
 * @example throw problem('city_not_found', `city not found or not running: ${name}`);
 * @example throw problem('invalid_request', 'no fields to update', { at: 'body' });
 */
export function problem(name: RequestProblem, message: string, options: Omit<Options, 'errors'> & Places): ProblemError;
export function problem(name: Exclude<ProblemName, RequestProblem>, message: string, options?: Options): ProblemError;
export function problem(name: ProblemName, message: string, options?: Options & { at?: string; value?: unknown }): ProblemError {
  const { at, value, ...others } = options ?? {};
  if (at === undefined) return new ProblemError(name, message, others);
  return new ProblemError(name, message, {
    ...others,
    errors: [{ message, location: at, ...(value === undefined ? {} : { value: shortened(value) }) }],
  });
}

const MAX_VALUE = 200;

/** What the client sent, but never much of it. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : value;
}
