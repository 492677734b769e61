import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemError, PROBLEMS, problem, type ProblemName } from '../../contract/problems.js';
import type { AppLogger } from '../logging/logger.js';
import { pathOf, REQUEST_ID_HEADER, requestId } from './request.js';

/**
 * Turns whatever was thrown into problem details (RFC 9457). Only problems and the framework's own refusals speak
 * to the client; everything else is logged with its stack and answered as an opaque 500.
 */
export const PROBLEM_TYPE = 'application/problem+json';

/** Another room's translation of its errors into problems; returns what it does not know unchanged. */
export type ErrorMapper = (error: unknown) => unknown;

/** Token of the list of mappers, bound by the root module. */
export const ERROR_MAPPERS = Symbol('ERROR_MAPPERS');

/** What a status means when only a status is known (errors of Fastify, Nest and Node). */
const BY_STATUS: Readonly<Record<number, readonly [ProblemName, string]>> = {
  400: ['bad_request', 'the request is malformed'],
  401: ['unauthorized', 'authentication required'],
  403: ['forbidden', 'not allowed'],
  404: ['not_found', 'no such resource'],
  405: ['method_not_allowed', 'method not allowed'],
  406: ['not_acceptable', 'not acceptable'],
  408: ['request_timeout', 'the request did not arrive in time'],
  409: ['conflict', 'conflict'],
  413: ['payload_too_large', 'the request body exceeds 1 MiB'],
  414: ['uri_too_long', 'the request target is too long'],
  415: ['unsupported_media_type', 'the content type must be application/json'],
  422: ['validation_failed', 'validation failed'],
  429: ['rate_limited', 'too many requests'],
  431: ['headers_too_large', 'the request headers are too large'],
  501: ['not_implemented', 'not implemented'],
  503: ['unavailable', 'the service is not available, try again'],
};

/** The body of a problem as sent. Its `instance` is a URI of this one occurrence, by the id under which the log has it. */
export function problemBody(error: ProblemError, requestId: string): string {
  const { code, status, title } = error.kind;
  const body = {
    type: `urn:supervisor:error:${code}`,
    title,
    status,
    detail: error.detail,
    instance: `urn:supervisor:request:${requestId}`,
    code,
  };
  return JSON.stringify(error.errors === undefined ? body : { ...body, errors: error.errors });
}

/** A problem for a bare status; unknown statuses become 400 or 500 by their class. */
export function problemForStatus(status: number, cause?: unknown): ProblemError {
  const known = BY_STATUS[status] ?? (status >= 400 && status < 500 ? BY_STATUS[400] : undefined);
  if (known === undefined) return problem('internal', 'internal server error', { cause });
  const [name, message] = known;
  const { status: told } = PROBLEMS[name];
  return new ProblemError(name, message, {
    cause,
    ...(told === 400 || told === 422 ? { errors: [{ message, location: 'request' }] } : {}),
  });
}

const problems = new WeakMap<FastifyReply, ProblemError>();

/** The problem that a reply tells; undefined for any other answer. */
export function problemOf(reply: FastifyReply): ProblemError | undefined {
  return problems.get(reply);
}

/** What is said beside the body: when to come again, and what belongs to this one. */
export function problemHeaders({ kind: { retryAfter }, headers }: ProblemError): Readonly<Record<string, string>> {
  return retryAfter === undefined ? headers : { 'retry-after': String(retryAfter), ...headers };
}

export class ProblemRenderer {
  #mappers: readonly ErrorMapper[] = [];

  constructor(private readonly log: AppLogger) {}

  /** Once, while the application starts. */
  use(mappers: readonly ErrorMapper[]): void {
    this.#mappers = mappers;
  }

  toProblem(error: unknown): ProblemError {
    if (error instanceof ProblemError) return error;
    const status = clientStatus(error);
    if (status !== undefined) return problemForStatus(status, error);
    for (const map of this.#mappers) {
      const mapped = map(error);
      if (mapped instanceof ProblemError) return mapped;
    }
    return problem('internal', 'internal server error', { cause: error });
  }

  /** Answers with the problem, as bytes (Fastify would add a charset to the media type of a text). Once headers are out nothing more can be said: the connection is cut. */
  send(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const found = this.toProblem(error);
    if (isOfService(found)) this.#report(found, error, request);
    if (reply.sent || reply.raw.headersSent) {
      if (!reply.raw.writableEnded) reply.raw.destroy();
      return;
    }
    problems.set(reply, found);
    const { status } = found.kind;
    if (!reply.hasHeader(REQUEST_ID_HEADER)) void reply.header(REQUEST_ID_HEADER, requestId(request));
    const headers = problemHeaders(found);
    for (const name of Object.keys(headers)) void reply.header(name, headers[name]);
    reply.removeHeader('content-length');
    void reply.code(status);
    if (!request.raw.complete) readOn(request, reply);
    void reply.header('content-type', PROBLEM_TYPE).send(Buffer.from(problemBody(found, requestId(request))));
  }

  #report(found: ProblemError, error: unknown, request: FastifyRequest): void {
    const fields = {
      request_id: requestId(request),
      method: request.method,
      path: pathOf(request.raw.url ?? '/'),
      err: found.cause ?? error,
    };
    if (found.kind.status === 500) this.log.error(fields, 'a request failed unexpectedly');
    else this.log.warn(fields, found.detail);
  }
}

/** What the service should not have answered. Maintenance that a city has not enabled, or an operation that nobody has, stays so. */
const isOfService = ({ kind }: ProblemError): boolean => kind.status === 500 || (kind.status > 500 && kind.retryAfter !== undefined);

/** What tells of providers of cities and of other servers. `dependency_missing` does not: it is the disk of the service, or its git. */
const OF_OTHERS: ReadonlySet<string> = new Set<ProblemName>(['bad_gateway', 'provider_not_ready']);

/** Whether somebody who runs the service is to be told of a reply. What anybody can ask for is no failure of it. */
export function isFailure(reply: FastifyReply): boolean {
  if (reply.statusCode < 500) return false;
  const told = problemOf(reply);
  return told === undefined || (isOfService(told) && !told.ofOthers && !OF_OTHERS.has(told.problem));
}

const PAYLOAD_TOO_LARGE = 413;
/** Bytes of a refused body that are read and thrown away. */
const MAX_DISCARDED = 16 * 1024 * 1024;

/**
 * Reads on what a client still sends: closed before, the connection would break under its next write, and the answer would
 * be lost. Fastify would close it after a 413.
 */
function readOn({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (reply.statusCode === PAYLOAD_TOO_LARGE) reply.removeHeader('connection');
  let discarded = 0;
  raw.on('data', ({ length }: Buffer) => {
    discarded += length;
    if (discarded > MAX_DISCARDED) raw.socket.destroy();
  });
}

/** The 4xx that Fastify or Nest meant, or undefined when the error says nothing about the request. */
function clientStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const status = 'getStatus' in error && typeof error.getStatus === 'function' ? (error.getStatus as () => unknown)() : statusCode(error);
  if (typeof status !== 'number') return undefined;
  return (status >= 400 && status < 500) || status === 501 || status === 503 ? status : undefined;
}

/** `statusCode` is trusted on errors of Fastify and its plugins only, and on a request that broke off in its body. */
function statusCode(error: object): unknown {
  if (!('code' in error) || typeof error.code !== 'string' || !('statusCode' in error)) return undefined;
  return error.code.startsWith('FST_') || error.code === 'ECONNRESET' ? error.statusCode : undefined;
}
