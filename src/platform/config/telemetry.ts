import type { z } from 'zod';
import type { EnvSchema } from './environment.js';

/** Where this process tells what it does, as OpenTelemetry has it. */
export interface TelemetrySettings {
  /** Of each kind of signal; absent: it is not sent. */
  readonly traces: string | undefined;
  readonly metrics: string | undefined;
  readonly logs: string | undefined;
  readonly serviceName: string;
  readonly sampler: { readonly kind: 'on' | 'off' | 'ratio'; readonly ratio: number; readonly followsParent: boolean };
  readonly metricsEveryMs: number;
}

/** Undefined: nothing is sent, and nothing of it is loaded. */
export function telemetryOf(e: z.output<typeof EnvSchema>): TelemetrySettings | undefined {
  if (e.OTEL_SDK_DISABLED || e.OTEL_EXPORTER_OTLP_PROTOCOL === 'grpc') return undefined;
  const base = e.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '');
  const target = (own: string | undefined, exporter: string, path: string): string | undefined =>
    exporter === 'none' ? undefined : (own ?? (base === undefined ? undefined : `${base}/v1/${path}`));
  const traces = target(e.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, e.OTEL_TRACES_EXPORTER, 'traces');
  const metrics = target(e.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, e.OTEL_METRICS_EXPORTER, 'metrics');
  const logs = target(e.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, e.OTEL_LOGS_EXPORTER, 'logs');
  if (traces === undefined && metrics === undefined && logs === undefined) return undefined;
  const name = e.OTEL_TRACES_SAMPLER;
  return {
    traces,
    metrics,
    logs,
    serviceName: e.OTEL_SERVICE_NAME,
    sampler: {
      kind: name.endsWith('traceidratio') ? 'ratio' : name.endsWith('always_off') ? 'off' : 'on',
      ratio: e.OTEL_TRACES_SAMPLER_ARG,
      followsParent: name.startsWith('parentbased_'),
    },
    metricsEveryMs: e.OTEL_METRIC_EXPORT_INTERVAL,
  };
}
