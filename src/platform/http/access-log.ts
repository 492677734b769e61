import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Counter } from 'prom-client';
import type { Durations } from '../health/durations.js';
import type { Metrics } from '../health/metrics.js';
import type { AppLogger, Logger } from '../logging/logger.js';
import type { RouteConfiguration } from './gate.js';
import { isFailure } from './problem.renderer.js';
import { pathOf, principalOf, requestId } from './request.js';
import type { RequestsInWork } from './requests-in-work.js';

/** One structured line and one observation a request. Access never goes to the event log. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Probes and scrapes come all the time: their lines are for debugging only, and no share of what callers are answered may be made of them. */
const QUIET: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);
/** Of a path. What is longer is no path of ours, and nobody fills a log with it. */
const LONGEST_PATH = 2_000;
type Label = 'method' | 'route' | 'status';
type OfStatus = Map<number, ReturnType<Durations<Label>['labels']>>;
type Done = (request: FastifyRequest, reply: FastifyReply) => void;

export class AccessLog {
  #seconds: Durations<Label> | undefined;
  /** What a city's own program takes, and answers, is not how this service is. */
  #ofServices: Durations<Label> | undefined;
  #failures: Counter | undefined;
  readonly #pino: Logger;

  constructor(
    log: AppLogger,
    private readonly inWork: RequestsInWork,
  ) {
    // Its lines have nothing in which a secret could stand, and to look for one takes half of what a line costs.
    this.#pino = log.pino.child({}, { redact: [] });
  }

  use(metrics: Metrics): void {
    const each = { labelNames: ['method', 'route', 'status'], buckets: BUCKETS } as const;
    this.#seconds = metrics.durations({
      name: 'svc_http_request_duration_seconds',
      help: 'Time from the request to the end of its answer, without what it was asked to wait for; streams, probes, scrapes and requests for services of cities are not observed.',
      ...each,
    });
    this.#failures = metrics.counter({
      name: 'svc_http_failures_total',
      help: 'Requests that the service has failed: those of svc_http_request_duration_seconds with a status from 500 on, without what tells of a city, its providers or another server.',
    });
    this.#ofServices = metrics.durations({
      name: 'svc_service_request_duration_seconds',
      help: 'Time from a request for a service of a city to the end of its answer, or of its connection where that is a WebSocket.',
      ...each,
    });
  }

  /** What to do when an answer on this route has ended. The labelled child of each method and status is looked up once. */
  forRoute(route?: RouteOptions): Done {
    const children = new Map<string, OfStatus>();
    const { operation } = (route?.config ?? {}) as RouteConfiguration;
    const url = route?.url ?? 'unmatched';
    const quiet = QUIET.has(url);
    const level = quiet ? 'debug' : 'info';
    const stream = operation?.stream !== undefined;
    const forwarded = operation?.forwarded === true;
    const pino = this.#pino;
    return (request, reply) => {
      const status = reply.statusCode;
      const rested = this.inWork.restedMs(request);
      if (!quiet && (!stream || status !== 200)) {
        const method = route === undefined ? 'other' : request.method;
        let ofMethod: OfStatus | undefined = children.get(method);
        if (ofMethod === undefined) children.set(method, (ofMethod = new Map() as OfStatus));
        let child = ofMethod.get(status);
        const seconds = forwarded ? this.#ofServices : this.#seconds;
        if (child === undefined && seconds !== undefined)
          ofMethod.set(status, (child = seconds.labels({ method, route: url, status: labelOf(status) })));
        if (!forwarded && isFailure(reply)) this.#failures?.inc();
        child?.observe(Math.max(0, reply.elapsedTime - rested) / 1000);
      }
      if (!pino.isLevelEnabled(level)) return;
      const waited = this.inWork.waitedMs(request);
      pino[level](
        {
          request_id: requestId(request),
          method: request.method,
          path: shown(pathOf(request.raw.url ?? '/')),
          status,
          ms: tenths(reply.elapsedTime),
          waited_ms: waited > 0 ? tenths(waited) : undefined,
          rested_ms: rested > 0 ? tenths(rested) : undefined,
          operation: operation?.id,
          caller: principalOf(request).actor,
        },
        'request',
      );
    };
  }
}

/** A program of a city may answer with any of 800 numbers: each of them would be sixteen lines of every scrape, for good. */
const labelOf = (status: number): string => (STATUS_CODES[status] === undefined ? 'other' : String(status));

const shown = (path: string): string => (path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path);

const tenths = (ms: number): number => Math.round(ms * 10) / 10;
