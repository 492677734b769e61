import type { components } from './api.gen.js';
import type { Wrote } from './limit.js';

export type Problem = components['schemas']['ErrorModel'];

const SECONDS = /^\d{1,9}$/;
/** Another request is at work under the same key. */
export const IN_FLIGHT = 'idempotency-in-flight';
/** With what the service itself says of a change that it does not know what has become of it. */
export const AGAIN = 'repeat it with the same Idempotency-Key';
/**
 * Of these no try has done anything, as the request alone decides. Others may hang on what is so at one replica, or by now: its address, its disk, a
 * key that was revoked since.
 */
const PROOFS: ReadonlySet<number> = new Set([400, 413]);
/** So does this one: the key was of another request before. */
const MISMATCH = 'idempotency-mismatch';

/** So many members are told in a line, each with so many characters: some carry what others wrote. */
const TOLD = 5;
const LONGEST = 500;
/** Where a problem carries advice, which is about no member. */
const ADVICE = 'body.hint';

/**
 * The detail, which may say no more than that something is wrong, with what it does not tell already of single members. Those of a conflict
 * are facts with a value, or several.
 */
function withMembers(detail: string, errors: readonly unknown[], facts: boolean): string {
  const texts = errors.map((one) => memberBeside(detail, one ?? {}, facts)).filter((text) => text !== '');
  const told = texts.slice(0, TOLD).map((text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text));
  return told.length === 0 ? detail : `${detail} (${told.join('; ')})`;
}

function memberBeside(detail: string, { location, message = '', value }: Partial<Record<string, unknown>>, facts: boolean): string {
  if (typeof message !== 'string') return '';
  if (facts && typeof value === 'string') {
    if (message.includes(value)) return detail.includes(message) ? '' : message;
    return detail.includes(value) ? '' : [message, value].filter(Boolean).join(': ');
  }
  if (facts && Array.isArray(value) && value.every((one) => typeof one === 'string' && detail.includes(one))) return '';
  if (message === '' || detail.includes(message)) return '';
  return typeof location !== 'string' || location === '' || location === ADVICE ? message : `${location}: ${message}`;
}

/**
 * The API refused, with a problem of RFC 9457; its message is for people, with what is wrong with single members. Programs decide by `code`,
 * or by `status`.
 */
export class ApiProblem extends Error {
  override readonly name: string = 'ApiProblem';
  readonly status: number;
  readonly code: string | undefined;
  readonly detail: string;
  /** What the problem says of single members. */
  readonly errors: NonNullable<Problem['errors']>;
  /** What the service calls the request, in its log too. */
  readonly requestId: string | undefined;
  /** Milliseconds after which the service invites another try. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether the service may have carried it out all the same, or goes on with it: a try before this answer had none, this one comes from a
   * proxy, or says that the work under its key goes on, or that nobody knows. Under the same key it is carried out once.
   */
  readonly mayHaveHappened: boolean;
  /** Under which a change was sent, also where the program has given none. */
  readonly idempotencyKey: string | undefined;

  /** @param wrote of what may change something */
  constructor(response: Response, body: unknown, wrote?: Wrote) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>;
    // A string and a list, whatever came.
    const detail = String(problem.detail ?? problem.title ?? `API returned HTTP ${response.status}`);
    const errors = Array.isArray(problem.errors) ? problem.errors : [];
    super(withMembers(detail, errors, response.status === 409));
    this.status = response.status;
    this.code = problem.code;
    this.detail = detail;
    this.errors = errors;
    this.requestId = response.headers.get('x-svc-request-id') ?? undefined;
    this.retryAfterMs = retryAfter(response);
    this.idempotencyKey = wrote?.key;
    const isOpen = this.code === IN_FLIGHT || isOfProxy(response) || leavesOpen(response, this.detail);
    const isProof = this.code !== undefined && (this.code === MISMATCH || PROOFS.has(this.status));
    this.mayHaveHappened = wrote !== undefined && !isProof && (wrote.mayHaveHappened || isOpen);
  }
}

/** The log does not hold the position any more: what came after it is lost to this reader, and `oldest` is where it can begin again. */
export class PositionGone extends ApiProblem {
  override readonly name = 'PositionGone';

  /** In the form that `after` takes; undefined where the service does not say it. */
  get oldest(): string | undefined {
    return /oldest position is (\S+)/.exec(this.detail)?.[1];
  }

  /**
   * Set when it is not the log that has dropped something: a database was restored, or a standby took over that had not got all of it, so
   * what came after this position never was. In the form that `after` takes.
   */
  get newest(): string | undefined {
    return this.code === 'cursor-ahead' ? /go on from (\S+)$/.exec(this.detail)?.[1] : undefined;
  }
}

/** Nobody answers at any of the addresses, or the connection broke. `cause` is what the platform says. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Under which a change was sent, also where the program has given none. */
  readonly idempotencyKey: string | undefined;
  /** Which of the addresses gave no answer at last. */
  readonly address: string | undefined;

  constructor(
    message: string,
    /** Whether the service may have got the request, and carried it out. */
    readonly mayHaveHappened: boolean,
    options?: ErrorOptions & { readonly idempotencyKey?: string | undefined; readonly address?: string | undefined },
  ) {
    super(message, options);
    this.idempotencyKey = options?.idempotencyKey;
    this.address = options?.address;
  }
}

/** What came is not what this client speaks. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** A part of an address that would lead to another operation: nothing, or dots. Nothing is asked. */
export class NoName extends TypeError {
  override readonly name = 'NoName';

  constructor(
    message: string,
    /** What the document calls that part. */
    readonly part: string,
    readonly value: string,
  ) {
    super(message);
  }
}

export function problemOf(response: Response, body: unknown, wrote?: Wrote): ApiProblem {
  return response.status === 410 ? new PositionGone(response, body, wrote) : new ApiProblem(response, body, wrote);
}

/** Whether the service says that it does not know whether a change was made, as where it lost its database at the commit. */
export function leavesOpen({ status }: Response, said: string): boolean {
  return status === 503 && said.includes(AGAIN);
}

/** What says that the service has not answered, which may go on with it. */
export function isOfProxy({ status, headers }: Response): boolean {
  return [502, 503, 504].includes(status) && headers.get('content-type')?.startsWith('application/problem+json') !== true;
}

export function retryAfter(response: Response): number | undefined {
  const after = response.headers.get('retry-after') ?? '';
  return SECONDS.test(after) ? Number(after) * 1_000 : undefined;
}

/** What an unknown failure says for itself, causes of network failures included. */
export function reason(error: unknown): string {
  const { cause, message } = (typeof error === 'object' && error !== null ? error : {}) as { cause?: unknown; message?: unknown };
  const { code, message: why } = (typeof cause === 'object' && cause !== null ? cause : {}) as { code?: unknown; message?: unknown };
  for (const text of [code, why, message]) if (typeof text === 'string' && text !== '') return text;
  return String(error);
}
