import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { AppConfig } from '../platform/config/config.js';
import { Failpoints } from '../platform/failpoints/failpoints.js';
import { Lifecycle } from '../platform/health/lifecycle.js';
import { Metrics } from '../platform/health/metrics.js';
import { measureReadiness, Readiness, STOPPING } from '../platform/health/readiness.js';
import { createHttpApp } from '../platform/http/http-app.js';
import { AppLogger, createLogger } from '../platform/logging/logger.js';
import { serveDocs } from '../platform/openapi/docs.js';
import { serveGuide } from '../platform/openapi/guide.js';
import { servePage } from '../platform/page/page.js';
import { receiveWebhooks } from '../modules/orchestration/orders/webhooks/receive.js';
import { isForService, serveServices } from '../modules/integrations/services/proxy/serve.js';
import { RootModule } from './root.module.js';

/** One running process's worth of the product; a test runs several in one Node process. */
export interface Application {
  readonly app: NestFastifyApplication;
  readonly config: AppConfig;
  readonly failpoints: Failpoints;
  readonly lifecycle: Lifecycle;
  /** Where it listens, with the port that the system chose when the configured one is 0; '' when it does not. */
  readonly url: string;
  /** The ordered stop of every room, then the server. Safe to call twice. */
  stop(): Promise<void>;
}

export interface ApplicationOptions {
  readonly logger?: AppLogger;
  readonly failpoints?: Failpoints;
  /** False for a process without an HTTP server. */
  readonly listens?: boolean;
}

/** What is beside the typed contract. */
function serveOthers(app: NestFastifyApplication): void {
  serveDocs(app);
  serveGuide(app);
  servePage(app);
  serveServices(app);
  receiveWebhooks(app);
}

/**
 * Builds the application of `config.role` and listens. `config.databaseUrl` must be set: the embedded server is
 * started by the entry, before.
 */
export async function startApplication(config: AppConfig, options: ApplicationOptions = {}): Promise<Application> {
  if (config.databaseUrl === undefined) throw new Error('startApplication needs a database');
  const logger = options.logger ?? new AppLogger(createLogger(config.logLevel, { role: config.role }));
  const failpoints = options.failpoints ?? new Failpoints();
  const root = RootModule.forRole(config, config.databaseUrl, logger, failpoints);
  const app =
    config.role === 'worker'
      ? // A worker answers probes only, and those need no key.
        await createHttpApp(root, config.with({ auth: 'off' }), logger)
      : await createHttpApp(root, config, logger, { extend: serveOthers, upgrades: isForService });
  const lifecycle = app.get(Lifecycle);
  app.get(Readiness).register(STOPPING, () => (lifecycle.stopping ? 'the process is stopping' : undefined));
  measureReadiness(app.get(Readiness), app.get(Metrics));
  const url = options.listens === false ? '' : await listen(app, config, lifecycle);
  return { app, config, failpoints, lifecycle, url, stop: () => lifecycle.stop() };
}

/**
 * Connections that may wait to be accepted, as many as Linux allows when nobody has set it. One is accepted in each turn of the event loop:
 * when a replica is gone its clients are more than Node's 511, and a connection that finds no place is reset.
 */
const BACKLOG = 4096;

async function listen(app: NestFastifyApplication, config: AppConfig, lifecycle: Lifecycle): Promise<string> {
  try {
    // Nest would log what goes wrong here; the caller explains it in words.
    await (app.getHttpAdapter().getInstance() as FastifyInstance).listen({ port: config.port, host: config.host, backlog: BACKLOG });
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  const { port } = app.getHttpServer().address() as AddressInfo;
  return config.urlOf(config.host, port);
}
