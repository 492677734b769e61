import { ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { DynamicModule, InjectionToken, Type } from '@nestjs/common';
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type onRequestHookHandler,
  type onSendHookHandler,
  type preParsingHookHandler,
  type RouteOptions,
} from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { Auditor } from '../audit/auditor.js';
import type { AppConfig } from '../config/config.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import type { AppLogger } from '../logging/logger.js';
import { preparing } from '../turns/preparing.js';
import { isTracing } from '../telemetry/spans.js';
import { sleep } from '../time/clock.js';
import { WaitingRequests } from '../turns/waiting-requests.js';
import { AccessLog } from './access-log.js';
import { HttpAdapter } from './adapter.js';
import { Auditing } from './auditing.js';
import { Authenticator, SessionPolicy } from './authenticator.js';
import { problem } from '../../contract/problems.js';
import { BatchedResponse } from './batched-response.js';
import { parseBody, requireUnencoded, textOf } from './body.parser.js';
import { answerClientError, refuseOnSocket } from './client-error.js';
import { compressAnswers } from './compression.js';
import { Gate, MUTATIONS, type RouteConfiguration } from './gate.js';
import type { OperationSpec } from './operation.js';
import { ProblemFilter } from './problem.filter.js';
import { ERROR_MAPPERS, ProblemRenderer, type ErrorMapper } from './problem.renderer.js';
import { RequestSpans } from './request-spans.js';
import { createRequestIds } from './request.js';
import { RequestsInWork } from './requests-in-work.js';
import { parseQuery } from './target.js';
import { Certificate, keepCertificate, SECURE } from './tls/certificate.js';
import { Handshakes, HANDSHAKE_MS } from './tls/handshakes.js';
import { readPair, type Pair } from './tls/pair.js';
import { UnreadAnswers } from './unread-answers.js';
import { routeUpgrades } from './upgrades.js';
import { ContractValidationPipe } from './validation.pipe.js';

/**
 * The HTTP room's front: a Nest application on Fastify whose every answer, from the socket's parser errors to a
 * handler's bug, carries a request id and is problem details when it is a refusal. It knows no table and no product.
 */
export type RootModule = Type | DynamicModule;

export interface HttpAppOptions {
  /** Adds routes outside the typed contract (the document, its pages), before Nest's. */
  readonly extend?: (app: NestFastifyApplication) => void;
  /** Whether a request that asks for another protocol may get it. All others are answered as if they had not asked. */
  readonly upgrades?: (request: IncomingMessage) => boolean;
}

const BODY_LIMIT = 1024 * 1024;
/** A composite cursor of ten thousand cities has to fit into a request target. */
const MAX_HEADERS = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle limit of a proxy in front, so that the proxy closes first and never writes into a closed socket. */
const KEEP_ALIVE_MS = 75_000;
const MAX_PARAM = 1024;
const DRAIN_LIMIT_MS = 2_000;
// Joined, two Host or Authorization lines are no valid one; Node would otherwise take the first and drop the rest.
// Of a request without a body no stream is read to its end: a twelfth of what Node and Fastify take for a GET.
const PARSER = { maxHeaderSize: MAX_HEADERS, requireHostHeader: false, joinDuplicateHeaders: true, optimizeEmptyRequests: true };

/**
 * Builds and initialises the application; the caller listens. It stops through `Lifecycle`: phase `accept`
 * closes the listener, so that a proxy goes elsewhere while what is running ends; phase `server` closes the application.
 *
 * @throws Error when `SVC_AUTH=keys` and no Authenticator is bound (a worker serves public operations only).
 */
export async function createHttpApp(
  root: RootModule,
  config: AppConfig,
  logger: AppLogger,
  options: HttpAppOptions = {},
): Promise<NestFastifyApplication> {
  const log = logger.child('http');
  const renderer = new ProblemRenderer(log);
  const inWork = new RequestsInWork(config.requestLimits);
  const unread = new UnreadAnswers();
  const gate = new Gate(config, renderer, inWork, unread);
  const access = new AccessLog(log, inWork);
  const auditing = new Auditing(config.auth === 'off');
  const pair = config.tls === undefined ? undefined : await readPair(config.tls);
  const { instance, handshakes } = createInstance({
    gate,
    inWork,
    unread,
    renderer,
    access,
    auditing,
    pair,
    upgrades: options.upgrades ?? (() => false),
  });

  const app = await NestFactory.create<NestFastifyApplication>(root, new HttpAdapter(instance), {
    logger,
    abortOnError: false,
    bodyParser: false,
    forceCloseConnections: true,
  });
  app.useGlobalPipes(new ContractValidationPipe());
  app.useGlobalFilters(new ProblemFilter(renderer));
  renderer.use(bound<readonly ErrorMapper[]>(app, ERROR_MAPPERS) ?? []);
  const metrics = bound<Metrics>(app, Metrics);
  if (metrics !== undefined) for (const part of [access, inWork, unread]) part.use(metrics);
  bound<WaitingRequests>(app, WaitingRequests)?.use((city) => inWork.ofCity(city));
  const auditor = bound<Auditor>(app, Auditor);
  if (auditor !== undefined) auditing.use(auditor);
  const authenticator = bound<Authenticator>(app, Authenticator);
  if (authenticator !== undefined) gate.use(authenticator, bound<SessionPolicy>(app, SessionPolicy));
  else if (config.auth === 'keys' && config.role !== 'worker') throw new Error('SVC_AUTH=keys needs an Authenticator in the root module');
  bound<Lifecycle>(app, Lifecycle)?.onStop('accept', 'http listener', () => stopAccepting(gate, instance, handshakes));
  bound<Lifecycle>(app, Lifecycle)?.onStop('requests', 'requests in flight', () => requestsEnded(instance));
  bound<Lifecycle>(app, Lifecycle)?.onStop('server', 'http application', () => app.close());
  if (pair !== undefined) {
    const certificate = new Certificate(config.tls!, pair, log);
    certificate.announce(config);
    keepCertificate(instance.server as unknown as TlsServer, certificate, { metrics, lifecycle: bound<Lifecycle>(app, Lifecycle), log });
  }
  options.extend?.(app);
  await app.init();
  return app;
}

interface Parts {
  readonly gate: Gate;
  readonly inWork: RequestsInWork;
  readonly unread: UnreadAnswers;
  readonly renderer: ProblemRenderer;
  readonly access: AccessLog;
  readonly auditing: Auditing;
  readonly pair: Pair | undefined;
  readonly upgrades: (request: IncomingMessage) => boolean;
}

interface Instance {
  readonly instance: FastifyInstance;
  /** Present when it speaks TLS. */
  readonly handshakes: Handshakes | undefined;
}

function createInstance({ gate, inWork, unread, renderer, access, auditing, pair, upgrades }: Parts): Instance {
  const nextId = createRequestIds();
  const spans = isTracing() ? new RequestSpans() : undefined;
  const parser = { ...PARSER, ServerResponse: BatchedResponse, shouldUpgradeCallback: upgrades };
  const common = {
    genReqId: nextId,
    requestIdHeader: false,
    logger: false,
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    routerOptions: {
      maxParamLength: MAX_PARAM,
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      querystringParser: parseQuery,
    },
    frameworkErrors: gate.refused,
    clientErrorHandler: (error, socket) => {
      if (handshakes?.failed(error, socket, (refused, plain) => refuseOnSocket(refused, plain, nextId())) === true) return;
      answerClientError(error, socket, nextId());
    },
  } satisfies FastifyServerOptions;
  const instance =
    pair === undefined
      ? fastify({ ...common, http: parser })
      : (fastify({
          ...common,
          https: { ...parser, ...SECURE, handshakeTimeout: HANDSHAKE_MS, cert: pair.cert, key: pair.key },
        }) as unknown as FastifyInstance);
  const handshakes = pair === undefined ? undefined : new Handshakes(instance.server as unknown as TlsServer);
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
  const ended = access.forRoute();
  instance.addHook('onRequest', (request, reply, done) => {
    // Clients name the type of a form for a body that they do not send; what is not there has no type to judge, and no end to wait for.
    if (hasNoBody(request)) delete request.headers['content-type'];
    return request.is404 ? gate.unmatched(request, reply) : done();
  });
  instance.addHook('onResponse', (request, reply, done) => {
    if (request.is404) ended(request, reply);
    done();
  });
  instance.removeAllContentTypeParsers();
  for (const [type, parse] of [
    ['application/json', parseBody],
    ['application/octet-stream', textOf],
  ] as const)
    instance.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) =>
      inWork.arrived(request, (refused) => {
        if (refused !== undefined) return done(refused);
        try {
          const { consumes = 'application/json', foreign } = (request.routeOptions.config as RouteConfiguration).operation ?? {};
          if (type !== consumes) throw problem('unsupported_media_type', `the body of this request must be ${consumes}`);
          const encoding = request.headers['content-encoding'];
          if (foreign === true) requireUnencoded(encoding);
          done(null, foreign === true ? body : parse(body as Buffer, encoding));
        } catch (error) {
          done(error as Error);
        }
      }),
    );
  instance.setErrorHandler((error, request, reply) => renderer.send(error, request, reply));
  instance.setNotFoundHandler((request, reply) => gate.unmatched(request, reply));
  routeUpgrades(instance);
  // An expectation that we do not know is ignored, as RFC 9110 allows; Node's own answer would be a bare 417.
  instance.server.on('checkExpectation', (request, response) => instance.server.emit('request', request, response));
  return { instance, handshakes };
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

function hasNoBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}

function logWhenClosed(ended: (request: FastifyRequest, reply: FastifyReply) => void): onRequestHookHandler {
  return (request, reply, done) => {
    // It comes once: `once` would only take itself away again.
    reply.raw.on('close', () => ended(request, reply));
    done();
  };
}

function stopAccepting(gate: Gate, instance: FastifyInstance, handshakes: Handshakes | undefined): void {
  gate.drain();
  if (instance.server.listening) instance.server.close();
  handshakes?.closeAll();
}

/**
 * Waits for the requests that are being answered: what they need (the pool above all) goes away after them. Streams
 * have ended by then. Who is slower than that finds a closed pool and is told to try again.
 */
async function requestsEnded(instance: FastifyInstance): Promise<void> {
  const deadline = performance.now() + DRAIN_LIMIT_MS;
  while (performance.now() < deadline) {
    instance.server.closeIdleConnections();
    const open = await new Promise<number>((resolve) =>
      instance.server.getConnections((error, count) => resolve(error === null ? count : 0)),
    );
    if (open === 0) return;
    await sleep(20);
  }
}

/** A provider that some module of the application may or may not have. */
function bound<T>(app: NestFastifyApplication, token: InjectionToken<T>): T | undefined {
  for (const module of app.get(ModulesContainer).values()) {
    const found = module.providers.get(token);
    if (found !== undefined) return found.instance as T;
  }
  return undefined;
}
