import { randomFillSync } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ANYBODY, type Principal } from '../../contract/principal.js';
import { workingNow } from '../turns/working.js';

/** What the front door knows about a request, and the headers that every response carries. */
export const REQUEST_ID_HEADER = 'x-svc-request-id';

const ID_BYTES = 8;

/** Mints request ids (16 hex characters). Random bytes are drawn in blocks: one system call for 512 requests. */
export function createRequestIds(): () => string {
  const block = Buffer.allocUnsafe(ID_BYTES * 512);
  let at = block.length;
  return () => {
    if (at === block.length) {
      randomFillSync(block);
      at = 0;
    }
    const from = at;
    at += ID_BYTES;
    return block.toString('hex', from, at);
  };
}

/** The id of this request, as sent in `X-SVC-Request-Id`. An inbound one is never honoured. */
export function requestId(request: FastifyRequest): string {
  return request.id;
}

/** Kept on the request itself: see `VISIT` of `RequestsInWork` for what a `WeakMap` takes. */
const PRINCIPAL = Symbol('principal');

declare module 'fastify' {
  interface FastifyRequest {
    [PRINCIPAL]?: Principal;
  }
}

/** Who calls. Without keys everybody is the same principal. */
export function principalOf(request: FastifyRequest): Principal {
  return request[PRINCIPAL] ?? ANYBODY;
}

/** Whether the caller has shown a good key or token. */
export function isIdentified(request: FastifyRequest): boolean {
  return request[PRINCIPAL] !== undefined;
}

/** Called by the gate only, once the key is known to be good. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  request[PRINCIPAL] = principal;
}

/**
 * Takes the reply out of Fastify's hands for a stream. The returned headers (request id, CORS, what the handler
 * set) belong into the `writeHead` of `reply.raw`.
 */
export function hijack(reply: FastifyReply): Record<string, string | number | string[]> {
  const headers: Record<string, string | number | string[]> = {};
  const given = reply.getHeaders();
  for (const name of Object.keys(given)) {
    const value = given[name as keyof typeof given];
    if (value !== undefined) headers[name] = value;
  }
  reply.hijack();
  workingNow()?.leave();
  return headers;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/** The host that a target in absolute form names, which counts beside the Host header; undefined for a path. */
export function authority(url: string | undefined): string | undefined {
  return url === undefined || url.startsWith('/') ? undefined : ABSOLUTE.exec(url)?.[1];
}

/** The path of the request without its query, safe to put into a URI. */
export function pathOf(url: string): string {
  const local = url.startsWith('/') ? url : url.replace(ABSOLUTE, '');
  const end = local.search(/[?#]/);
  const path = end === -1 ? local : local.slice(0, end);
  if (path === '') return '/';
  return /^[\w\-.~!$&'()*+,;=:@/%]*$/.test(path) ? path : encodeURI(path.toWellFormed());
}
