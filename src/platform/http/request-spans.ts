import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { startSpan, within, type Span } from '../telemetry/spans.js';
import type { RouteConfiguration } from './gate.js';
import { requestId } from './request.js';

type Done = (request: FastifyRequest, reply: FastifyReply) => void;
/** Probes and scrapes come all the time. */
const UNTOLD: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);
const LONGEST = 200;
/** Version 00 as W3C has it; of a later one, what it has in common with that. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** A span a request, in the trace of the caller. Registered only where spans are exported. */
export class RequestSpans {
  readonly #spans = new WeakMap<FastifyRequest, Span>();

  /** Adds to a route what begins its spans; what is done once its body is there is done within. */
  follow(route: RouteOptions): void {
    const { url } = route;
    if (UNTOLD.has(url)) return;
    const method = [route.method].flat()[0]!.toUpperCase();
    const { operation } = (route.config ?? {}) as RouteConfiguration;
    const name = `${method} ${template(url)}`;
    const common = { 'http.request.method': method, 'http.route': template(url), 'svc.operation': operation?.id };
    const begin = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
      const { cityName } = request.params as { cityName?: string };
      const facts = { ...common, 'svc.request_id': requestId(request), 'svc.city': cityName?.slice(0, LONGEST).toWellFormed() };
      const span = startSpan(name, { kind: 'server', parent: parentOf(request), facts });
      if (span !== undefined) this.#spans.set(request, span);
      done();
    };
    const enter = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => within(this.#spans.get(request), done);
    route.onRequest = [begin, ...[route.onRequest ?? []].flat()];
    route.preHandler = [enter, ...[route.preHandler ?? []].flat()];
  }

  /** What is done at the end of an answer is still part of the request. */
  ending(done: Done): Done {
    return (request, reply) => {
      const span = this.#spans.get(request);
      within(span, () => done(request, reply));
      if (span === undefined) return;
      span.add({ 'http.response.status_code': reply.statusCode });
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
      span.end();
    };
  }
}

function parentOf({ raw: { headers } }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

const template = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}');
