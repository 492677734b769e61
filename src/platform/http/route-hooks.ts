import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify';
import { isTracing } from '../telemetry/spans.js';
import { preparing } from '../turns/preparing.js';
import type { AccessLog } from './access-log.js';
import type { Auditing } from './auditing.js';
import { compressAnswers } from './compression.js';
import { MUTATIONS, type Gate, type RouteConfiguration } from './gate.js';
import type { OperationSpec } from './operation.js';
import { RequestSpans } from './request-spans.js';
import type { RequestsInWork } from './requests-in-work.js';
import type { UnreadAnswers } from './unread-answers.js';

export interface RouteParts {
  readonly gate: Gate;
  readonly inWork: RequestsInWork;
  readonly unread: UnreadAnswers;
  readonly access: AccessLog;
  readonly auditing: Auditing;
}

/**
 * Has each route do, beside its handler and what it has of its own, in this order:
 *
 * - `onRequest`: the log of streams and of what is forwarded, the span, the gate, its own; the record of a change that is forwarded
 * - `preParsing`: its own, the count of the body
 * - `preHandler`: the span, the gate once more with the body, its own, the record of a change, one plan for what it asks
 * - `onSend`: compression, the end of its place in the line, the record of an answer, the count of what is not read
 * - `onResponse`: the log
 */
export function hookRoutes(instance: FastifyInstance, { gate, inWork, unread, access, auditing }: RouteParts): void {
  const spans = isTracing() ? new RequestSpans() : undefined;
  instance.addHook('onRoute', (route) => {
    route.onRequest = [gate.forRoute(route)].concat((route.onRequest ?? []) as never);
    if (!['GET', 'HEAD'].includes([route.method].flat()[0]!.toUpperCase())) {
      route.preHandler = [gate.afterBody(route)].concat((route.preHandler ?? []) as never);
      audit(route, auditing);
    } else if (isForwarded(route) || claims(route)) audit(route, auditing);
    if (!isForwarded(route)) countBody(route, inWork);
    planOnce(route);
    leaveWhenAnswered(route, inWork);
    compressAnswers(route);
    countUnread(route, inWork, unread);
    spans?.follow(route);
    const ended = spans?.ending(access.forRoute(route)) ?? access.forRoute(route);
    const { stream, forwarded } = (route.config as RouteConfiguration | undefined)?.operation ?? {};
    if (stream !== undefined || forwarded === true) {
      // A stream mostly ends because its client leaves; Fastify calls that no response.
      route.onRequest = [logWhenClosed(ended), ...[route.onRequest].flat()];
      return;
    }
    route.onResponse = (request, reply, done) => {
      ended(request, reply);
      done();
    };
  });
}

/** Last before the body is read: what is read sooner would be lost for who reads it. */
function countBody(route: RouteOptions, inWork: RequestsInWork): void {
  const count: preParsingHookHandler = (request, _reply, body, done) => {
    inWork.arriving(request);
    done(null, body);
  };
  route.preParsing = [...[route.preParsing ?? []].flat(), count];
}

/** Last before the handler. */
function planOnce(route: RouteOptions): void {
  if ((route.config as RouteConfiguration | undefined)?.operation?.plannedOnce !== true) return;
  route.preHandler = [...[route.preHandler ?? []].flat(), (_request, _reply, done) => preparing(done)];
}

/** First of what is done with an answer that is as it will go out. */
function leaveWhenAnswered(route: RouteOptions, inWork: RequestsInWork): void {
  const { operation } = (route.config ?? {}) as RouteConfiguration;
  if (operation === undefined || operation.public === true) return;
  const leave: onSendHookHandler = (request, _reply, payload, done) => {
    inWork.answered(request);
    done(null, payload);
  };
  route.onSend = [leave, ...[route.onSend ?? []].flat()];
}

/** What an answer has become by the time it goes out. */
function countUnread(route: RouteOptions, inWork: RequestsInWork, unread: UnreadAnswers): void {
  const count: onSendHookHandler = (request, reply, payload, done) => {
    unread.sending(reply, payload, inWork.partyOf(request));
    done(null, payload);
  };
  route.onSend = [...[route.onSend ?? []].flat(), count];
}

/** Last before the handler, and last before the answer. */
function audit(route: RouteOptions, auditing: Auditing): void {
  const { operation } = (route.config ?? {}) as RouteConfiguration;
  if (operation === undefined) return;
  const forwarded = isForwarded(route);
  if (forwarded) route.onRequest = [...[route.onRequest ?? []].flat(), awaiting(operation, auditing)];
  else route.preHandler = [...[route.preHandler ?? []].flat(), (request, _reply, done) => auditing.follow(request, operation, done)];
  route.onSend = (request, reply, payload, done) => {
    if (!forwarded || MUTATIONS.has(request.method)) auditing.answered(request, reply, operation);
    done(null, payload);
  };
}

/** What a program answers is told by whoever forwards it; an answer of ours tells only what never got there. */
function awaiting(operation: OperationSpec, auditing: Auditing): onRequestHookHandler {
  return (request, _reply, done) => {
    if (MUTATIONS.has(request.method)) auditing.awaits(request, operation);
    done();
  };
}

function isForwarded({ config }: RouteOptions): boolean {
  return (config as RouteConfiguration | undefined)?.operation?.forwarded === true;
}

/** It takes what it gives away from others: that is told as a change is. */
function claims({ config, method }: RouteOptions): boolean {
  return [method].flat()[0] === 'GET' && (config as RouteConfiguration | undefined)?.operation?.claims === true;
}

function logWhenClosed(ended: (request: FastifyRequest, reply: FastifyReply) => void): onRequestHookHandler {
  return (request, reply, done) => {
    // It comes once: `once` would only take itself away again.
    reply.raw.on('close', () => ended(request, reply));
    done();
  };
}
