import { ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { DynamicModule, InjectionToken, Type } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { Auditor } from '../audit/auditor.js';
import type { AppConfig } from '../config/config.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import type { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { WaitingRequests } from '../turns/waiting-requests.js';
import { AccessLog } from './access-log.js';
import { HttpAdapter } from './adapter.js';
import { Auditing } from './auditing.js';
import { Authenticator, SessionPolicy } from './authenticator.js';
import { createInstance } from './fastify-instance.js';
import { Gate } from './gate.js';
import { ProblemFilter } from './problem.filter.js';
import { ERROR_MAPPERS, ProblemRenderer, type ErrorMapper } from './problem.renderer.js';
import { StreamLimits } from './rate-limits.js';
import { RequestsInWork } from './requests-in-work.js';
import { Certificate, keepCertificate } from './tls/certificate.js';
import type { Handshakes } from './tls/handshakes.js';
import { readPair } from './tls/pair.js';
import { UnreadAnswers } from './unread-answers.js';
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

const DRAIN_LIMIT_MS = 2_000;

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
  const streams = bound<StreamLimits>(app, StreamLimits);
  if (streams !== undefined) gate.count(streams);
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
