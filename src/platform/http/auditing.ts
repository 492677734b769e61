import type { FastifyReply, FastifyRequest } from 'fastify';
import { storableText } from '../../contract/storable.js';
import { AuditedRequest, onBehalfOf, type AuditEntry } from '../audit/audited-request.js';
import type { Auditor } from '../audit/auditor.js';
import type { OperationSpec } from './operation.js';
import { problemOf } from './problem.renderer.js';
import { isIdentified, principalOf, requestId } from './request.js';

const MAX_ID = 200;
const AUDITED = Symbol('audited');
type Tell = (outcome: Pick<AuditEntry, 'status' | 'code'>) => void;
const forwarded = new WeakMap<FastifyRequest, Tell>();

declare module 'fastify' {
  interface FastifyRequest {
    [AUDITED]?: AuditedRequest;
  }
}

/** What a program has answered to a request that was forwarded to it, or why it has not: the first that is said counts. */
export function answeredElsewhere(request: FastifyRequest, outcome: Pick<AuditEntry, 'status' | 'code'>): void {
  const tell = forwarded.get(request);
  forwarded.delete(request);
  tell?.(outcome);
}

/** What the audit room hears of the requests of one operation that may change something. */
export class Auditing {
  #auditor: Auditor | undefined;

  /** @param open everybody may come in */
  constructor(private readonly open: boolean) {}

  use(auditor: Auditor): void {
    this.#auditor = auditor;
  }

  /** Once it is known who calls and what may be read of the body: from here on what is done is done for this request. */
  follow(request: FastifyRequest, operation: OperationSpec, next: () => void): void {
    if (this.#auditor === undefined) return next();
    const here = new AuditedRequest(this.#entry(request, operation));
    request[AUDITED] = here;
    onBehalfOf(here, next);
  }

  /** Of a request that a program may answer: whoever forwards it says what that has said. */
  awaits(request: FastifyRequest, operation: OperationSpec): void {
    const auditor = this.#auditor;
    if (auditor === undefined) return;
    forwarded.set(request, (outcome) =>
      auditor.answered(new AuditedRequest(this.#entry(request, operation), true), { ...outcome, reason: null }),
    );
  }

  /** Before the answer is sent. */
  answered(request: FastifyRequest, reply: FastifyReply, operation: OperationSpec): void {
    if (this.#auditor === undefined) return;
    const { statusCode: status } = reply;
    const refused = problemOf(reply);
    const reason = status === 401 ? (refused?.detail ?? null) : null;
    const here = request[AUDITED] ?? new AuditedRequest(this.#entry(request, operation, status === 401));
    this.#auditor.answered(here, { status, code: refused?.kind.code ?? null, reason });
  }

  #entry(request: FastifyRequest, operation: OperationSpec, refused = false): AuditEntry {
    const caller = principalOf(request);
    const known = !refused && (this.open || isIdentified(request));
    const { cityName, ...ids } = request.params as Record<string, string>;
    if (operation.forwarded === true) Object.assign(ids, serviceOf(ids));
    delete ids['*'];
    return {
      request_id: requestId(request),
      key_id: caller.session === undefined ? (caller.keyId ?? null) : null,
      actor: known ? caller.actor : null,
      session_id: caller.session?.id ?? null,
      session_city: caller.session?.city ?? null,
      address: (request.socket.remoteAddress ?? '').replace(/^::ffff:(?=[\d.]+$)/, ''),
      operation: operation.id,
      method: request.method,
      path: (request.routeOptions.url ?? '').replaceAll(/:(\w+)/g, '{$1}'),
      city: cityName === undefined ? null : storable(cityName),
      ids: Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, storable(id)])),
      status: operation.status ?? 200,
      code: null,
      reason: null,
    };
  }
}

/** Which of a city's programs, and what of it. Without the query. */
function serviceOf({ '*': rest = '' }: Record<string, string>): { service: string; path: string } {
  const at = rest.indexOf('/');
  return at === -1 ? { service: rest, path: '/' } : { service: rest.slice(0, at), path: rest.slice(at) };
}

/** A path has what somebody wrote into it. */
const storable = (id: string): string => storableText(id.slice(0, MAX_ID));
