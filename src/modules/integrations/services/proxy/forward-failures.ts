import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { errors } from 'undici';
import { problem, type ProblemError } from '../../../../contract/problems.js';
import { answeredElsewhere } from '../../../../platform/http/auditing.js';
import { problemBody, PROBLEM_TYPE } from '../../../../platform/http/problem.renderer.js';
import { requestId } from '../../../../platform/http/request.js';
import type { AppLogger } from '../../../../platform/logging/logger.js';

/** Seconds. A process that has ended is begun anew after one. */
const AGAIN_S = '1';

export const LEFT = problem('bad_gateway', 'whoever has asked has left');

export const late = (): ProblemError => problem('bad_gateway', 'service unavailable: it has not answered in time');

export const noAnswer = (status = 0): ProblemError =>
  problem('bad_gateway', `service unavailable: the status ${status} of what it says is none of an answer`, {
    headers: { 'retry-after': AGAIN_S },
  });

export const tooLarge = (limit: number): ProblemError => problem('payload_too_large', `the request body exceeds ${limit} bytes`);

export function unreachable(error: unknown, log: AppLogger): ProblemError {
  if (error instanceof errors.HeadersTimeoutError) return late();
  const { message, code } = error as NodeJS.ErrnoException;
  log.debug({ err: error }, 'a service could not be reached');
  return problem('bad_gateway', `service unavailable: ${code ?? message}`, { headers: { 'retry-after': AGAIN_S } });
}

/** Whether it may have failed for the connection that it shared, and not for the service. */
export function wasKept(error: unknown): boolean {
  if (error instanceof errors.SocketError) return (error.socket?.bytesRead ?? 0) > 0;
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Notes that nobody took an answer, unless one has been noted. */
export function noteLeft(request: FastifyRequest): void {
  answeredElsewhere(request, { status: LEFT.kind.status, code: LEFT.kind.code });
}

/** A request that its service does not answer, and the headers of this process for its answer. */
interface Unanswered {
  readonly request: FastifyRequest;
  readonly response: ServerResponse;
  readonly own: OutgoingHttpHeaders;
}

/** Answers in the place of the service. */
export function answerFor({ request, response, own }: Unanswered, why: ProblemError): void {
  const { status, retryAfter, code } = why.kind;
  const retries = why.headers['retry-after'] ?? retryAfter;
  answeredElsewhere(request, { status, code });
  if (response.destroyed) return;
  const { raw } = request;
  // What is still to come of its body is for nobody.
  if (!raw.complete) raw.resume();
  const body = problemBody(why, requestId(request));
  response.writeHead(status, {
    ...own,
    ...why.headers,
    ...(retries === undefined ? {} : { 'retry-after': String(retries) }),
    ...(raw.complete ? {} : { connection: 'close' }),
    'content-type': PROBLEM_TYPE,
    'content-length': String(Buffer.byteLength(body)),
  });
  // The proxy looks right after this whether there is an answer: what waits for the end of the turn is none to it.
  response.flushHeaders();
  response.end(request.method === 'HEAD' ? undefined : body);
}
