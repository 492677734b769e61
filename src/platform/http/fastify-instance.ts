import { fastify, type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { problem } from '../../contract/problems.js';
import { BatchedResponse } from './batched-response.js';
import { parseBody, requireUnencoded, textOf } from './body.parser.js';
import { answerClientError, refuseOnSocket } from './client-error.js';
import type { RouteConfiguration } from './gate.js';
import type { ProblemRenderer } from './problem.renderer.js';
import { createRequestIds } from './request.js';
import { hookRoutes, type RouteParts } from './route-hooks.js';
import { parseQuery, routableTarget } from './target.js';
import { SECURE } from './tls/certificate.js';
import { Handshakes, HANDSHAKE_MS } from './tls/handshakes.js';
import type { Pair } from './tls/pair.js';
import { routeUpgrades } from './upgrades.js';

const BODY_LIMIT = 1024 * 1024;
/** A composite cursor of ten thousand cities has to fit into a request target. */
const MAX_HEADERS = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle limit of a proxy in front, so that the proxy closes first and never writes into a closed socket. */
const KEEP_ALIVE_MS = 75_000;
const MAX_PARAM = 1024;
// Joined, two Host or Authorization lines are no valid one; Node would otherwise take the first and drop the rest.
// Of a request without a body no stream is read to its end: a twelfth of what Node and Fastify take for a GET.
const PARSER = { maxHeaderSize: MAX_HEADERS, requireHostHeader: false, joinDuplicateHeaders: true, optimizeEmptyRequests: true };

export interface InstanceParts extends RouteParts {
  readonly renderer: ProblemRenderer;
  readonly pair: Pair | undefined;
  readonly upgrades: (request: IncomingMessage) => boolean;
}

export interface Instance {
  readonly instance: FastifyInstance;
  /** Present when it speaks TLS. */
  readonly handshakes: Handshakes | undefined;
}

/** Fastify as this service wants it: its limits, its parsers, and what each route does beside its handler. */
export function createInstance({ gate, inWork, unread, renderer, access, auditing, pair, upgrades }: InstanceParts): Instance {
  const nextId = createRequestIds();
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
    rewriteUrl: ({ url = '' }) => routableTarget(url),
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
  hookRoutes(instance, { gate, inWork, unread, access, auditing });
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

function hasNoBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}
