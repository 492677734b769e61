import type { Attributes, HrTime } from '@opentelemetry/api';
import { hrTime, millisToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client';

type Family = MetricObjectWithValues<MetricValueWithName<string>>;

/** What `/metrics` tells, for whoever is sent metrics: there is one way in which this product counts. */
export class PrometheusMetrics implements MetricProducer {
  readonly #registries = new Set<Registry>();
  readonly #since = millisToHrTime(Math.round(performance.timeOrigin));

  add(registry: Registry): void {
    this.#registries.add(registry);
  }

  async collect(): Promise<CollectionResult> {
    const errors: unknown[] = [];
    const metrics: MetricData[] = [];
    for (const registry of this.#registries) {
      try {
        const times = { startTime: this.#since, endTime: hrTime() };
        // What is declared says less than what comes: parts of histograms have names of their own.
        const families = (await registry.getMetricsAsJSON()) as unknown as Family[];
        metrics.push(...families.map((family) => converted(family, times)));
      } catch (error) {
        errors.push(error);
      }
    }
    return { resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: 'svc' }, metrics }] }, errors };
  }
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

function converted({ name, help, type, values }: Family, times: Times): MetricData {
  const descriptor = { name, description: help, unit: '', valueType: 1 };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  const kind = String(type);
  if (kind === 'histogram') return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(name, values, times) };
  const dataPoints = values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }));
  return kind === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

type Histograms = Extract<MetricData, { dataPointType: DataPointType.HISTOGRAM }>['dataPoints'];

function histograms(name: string, values: Family['values'], times: Times): Histograms {
  const series = Map.groupBy(values, ({ labels }) => JSON.stringify(Object.entries(attributesOf(labels)).sort()));
  return [...series.values()].map((parts) => {
    const buckets = parts.filter(({ metricName }) => metricName === `${name}_bucket`);
    const one = (part: string): number => parts.find(({ metricName }) => metricName === `${name}_${part}`)?.value ?? 0;
    const boundaries = buckets.map(({ labels }) => Number(labels.le)).filter((le) => Number.isFinite(le));
    const below = buckets.map(({ value }) => value);
    // There they are counts up to each boundary, here of each bucket.
    const counts = below.map((upTo, at) => upTo - (below[at - 1] ?? 0));
    const value = { buckets: { boundaries, counts }, sum: one('sum'), count: one('count') };
    return { ...times, attributes: attributesOf(parts[0]!.labels), value };
  });
}

function attributesOf(labels: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(Object.entries(labels).flatMap(([label, value]) => (label === 'le' ? [] : [[label, String(value)]])));
}
