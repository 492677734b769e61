import { diag, DiagLogLevel, type Logger } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import type { AppConfig } from '../config/config.js';
import type { TelemetrySettings } from '../config/telemetry.js';
import type { AppLogger } from '../logging/logger.js';
import { Away } from './away.js';
import { sendLine } from './log-lines.js';
import { PrometheusMetrics } from './prometheus-metrics.js';
import { makeSpansWith } from './spans.js';
import { SpansOf } from './tracer.js';

/** Spans and lines that wait to be sent; what comes beyond is dropped. */
const QUEUE = 4_096;
const BATCH = 512;
const SPANS_EVERY_MS = 1_000;
/** Where what is sent does not arrive, nobody waits longer for the rest of it at the end. */
const LAST_MS = 1_000;

/** What is loaded of OpenTelemetry, and how it is set up. Headers, limits of time and compression its exporters read by themselves. */
export class Sdk {
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #metrics = new PrometheusMetrics();
  #lines: Logger | undefined;

  constructor({ processId, role }: AppConfig, settings: TelemetrySettings, log: AppLogger) {
    const away = new Away(log);
    setGlobalErrorHandler(away.say);
    diag.setLogger(
      { error: away.say, warn: away.say, info: () => undefined, debug: () => undefined, verbose: () => undefined },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    const own = { 'service.name': settings.serviceName, 'service.instance.id': processId, 'svc.role': role };
    const resource = detectResources({ detectors: [resourceAttributesEnvDetector] }).merge(resourceFromAttributes(own));
    if (settings.traces !== undefined) this.#trace(settings.traces, settings, resource);
    if (settings.metrics !== undefined) this.#measure(settings.metrics, settings, resource);
    if (settings.logs !== undefined) this.#log(settings.logs, resource);
  }

  /** What an application counts is sent as well. */
  readonly observe = (registry: Registry): void => this.#metrics.add(registry);

  /** Takes a line of the log. */
  readonly line = (line: string): void => {
    if (this.#lines !== undefined) sendLine(this.#lines, line);
  };

  async stop(): Promise<void> {
    makeSpansWith(undefined);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, LAST_MS)));
    await Promise.race([Promise.allSettled(this.#stops.map((stop) => stop())), late]);
    clearTimeout(timer);
    diag.disable();
  }

  #trace(url: string, settings: TelemetrySettings, resource: Resource): void {
    const processor = new BatchSpanProcessor({
      exporter: new OTLPTraceExporter({ url }),
      maxQueueSize: QUEUE,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: SPANS_EVERY_MS,
    });
    const provider = new TracerProvider({ resource, sampler: samplerOf(settings), spanProcessors: [processor] });
    this.#stops.push(() => provider.shutdown());
    makeSpansWith(new SpansOf(provider.getTracer('svc')));
  }

  #measure(url: string, { metricsEveryMs }: TelemetrySettings, resource: Resource): void {
    const exporter = new OTLPMetricExporter({ url });
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricsEveryMs, metricProducers: [this.#metrics] });
    const provider = new MeterProvider({ resource, readers: [reader] });
    this.#stops.push(() => provider.shutdown());
  }

  #log(url: string, resource: Resource): void {
    const processor = new BatchLogRecordProcessor({
      exporter: new OTLPLogExporter({ url }),
      maxQueueSize: QUEUE,
      maxExportBatchSize: BATCH,
    });
    const provider = new LoggerProvider({ resource, processors: [processor] });
    this.#stops.push(() => provider.shutdown());
    this.#lines = provider.getLogger('svc');
  }
}

function samplerOf({ sampler: { kind, ratio, followsParent } }: TelemetrySettings): Sampler {
  const root = kind === 'ratio' ? new TraceIdRatioBasedSampler(ratio) : kind === 'off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
  return followsParent ? new ParentBasedSampler({ root }) : root;
}
