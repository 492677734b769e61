import type { z } from 'zod';
import { EnvSchema } from './environment.js';

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

type Given = Readonly<Record<string, string | undefined>>;

const EXPORTERS = ['OTEL_TRACES_EXPORTER', 'OTEL_METRICS_EXPORTER', 'OTEL_LOGS_EXPORTER'];
const ENDPOINT = /^OTEL_EXPORTER_OTLP_((TRACES|METRICS|LOGS)_)?ENDPOINT$/;

/** Whether something may be sent, by the names alone. */
const sends = (given: Given): boolean =>
  Object.entries(given).some(([name, value]) => ENDPOINT.test(name) && value?.trim()) &&
  given.OTEL_SDK_DISABLED?.trim().toLowerCase() !== 'true' &&
  given.OTEL_EXPORTER_OTLP_PROTOCOL !== 'grpc';

/** What it says of one kind of signal. It may be a list, for programs that have several. */
const exporterOf = (said: string): 'otlp' | 'none' | undefined => {
  const each = said.split(',').map((one) => one.trim());
  return each.includes('otlp') ? 'otlp' : each.includes('none') ? 'none' : undefined;
};

const SAMPLER = 'OTEL_TRACES_SAMPLER';
const isSampler = (said: string | undefined): boolean => EnvSchema.shape[SAMPLER].safeParse(said).success;

/**
 * What is given, without what other programs read of OpenTelemetry: a host that tells them to send by something of their own keeps none of ours
 * from starting. Where nothing is sent nothing of it is judged.
 */
export function withoutOthersTelemetry(given: Given): Given {
  if (!sends(given)) return Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('OTEL_')));
  const exporters = EXPORTERS.flatMap((name) => (given[name] === undefined ? [] : [[name, exporterOf(given[name]) ?? 'none']]));
  // What is said of a sampler means nothing to another one. Only `true` switches off, and that is known by now.
  const sampler = isSampler(given[SAMPLER]) ? {} : { [SAMPLER]: undefined, [`${SAMPLER}_ARG`]: undefined };
  return { ...given, ...(Object.fromEntries(exporters) as Given), ...sampler, OTEL_SDK_DISABLED: 'false' };
}

/** Variables that name what is not here, where others have it: an exporter or a sampler, and what is done without. */
export function unknownTelemetry(env: Given): { readonly variable: string; readonly value: string; readonly instead: string }[] {
  if (!sends(env)) return [];
  return [...EXPORTERS, SAMPLER].flatMap((variable) => {
    const value = env[variable]?.trim() ?? '';
    if (value === '' || (variable === SAMPLER ? isSampler(env[SAMPLER]) : exporterOf(value) !== undefined)) return [];
    return [{ variable, value, instead: variable === SAMPLER ? 'the default is taken' : 'of these nothing is sent' }];
  });
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
