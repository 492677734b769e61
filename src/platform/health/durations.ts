import type { Metric, Registry } from 'prom-client';

export interface DurationsConfiguration<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  /** Seconds, upwards. */
  readonly buckets: readonly number[];
}

/** What has been observed with one set of labels. */
class Observed {
  /** Not added up: the last one is of what is above all buckets. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    private readonly buckets: readonly number[],
  ) {
    this.counts = new Float64Array(buckets.length + 1);
  }

  observe(seconds: number): void {
    let at = 0;
    while (at < this.buckets.length && seconds > this.buckets[at]!) at++;
    this.counts[at]!++;
    this.sum += seconds;
  }
}

/**
 * A histogram for what every request does. The library's makes a text of its labels and of its bucket's bound with each observation, 360 ns
 * against 5, which was a fiftieth of what the proxy of services takes for a request.
 */
export class Durations<L extends string> {
  readonly name: string;
  readonly #all = new Map<string, Observed>();

  constructor(
    private readonly configuration: DurationsConfiguration<L>,
    registry: Registry,
  ) {
    this.name = configuration.name;
    // The registry asks for no more than a name, and for what `get` tells.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Whoever observes often keeps it. */
  labels(labels: Record<L, string>): { observe(seconds: number): void } {
    const key = this.configuration.labelNames.map((name) => labels[name]).join('\n');
    let observed = this.#all.get(key);
    if (observed === undefined) this.#all.set(key, (observed = new Observed(labels, this.configuration.buckets)));
    return observed;
  }

  get(): object {
    const { name, help, buckets } = this.configuration;
    const values = [...this.#all.values()].flatMap(({ labels, counts, sum }) => {
      let count = 0;
      const below = [...buckets, '+Inf'].map((le, at) => ({
        metricName: `${name}_bucket`,
        labels: { le, ...labels },
        value: (count += counts[at]!),
      }));
      return [...below, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
    });
    return { name, help, type: 'histogram', values, aggregator: 'sum' };
  }
}
