import { describe, expect, it, jest } from '@jest/globals';
import { Metrics, together } from './metrics.js';

function metricsOf(requests: number): Metrics {
  const metrics = new Metrics();
  metrics.counter({ name: 'requests_total', help: 'Requests, "all"\nof them.', labelNames: ['of'] }).inc({ of: 'a{b} c' }, requests);
  metrics.histogram({ name: 'took_seconds', help: 'Time.', buckets: [1] }).observe(requests);
  return metrics;
}

describe('metrics of several processes at one port', () => {
  it('are one text, whoever is asked: a family once, each sample with its process, nothing added up', async () => {
    const [one, other] = [metricsOf(1), metricsOf(20)];
    other.gauge({ name: 'only_here', help: 'Of one alone.' }).set(Infinity);
    const gather = async () => Promise.all([one, other].map((metrics) => metrics.registry.metrics()));
    one.belong('api-1', gather);
    other.belong('worker', gather);
    expect(await other.text()).toBe(await one.text());
    expect(await one.text()).toBe(`# HELP requests_total Requests, "all"\\nof them.
# TYPE requests_total counter
requests_total{of="a{b} c",process="api-1"} 1
requests_total{of="a{b} c",process="worker"} 20

# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{le="1",process="api-1"} 1
took_seconds_bucket{le="+Inf",process="api-1"} 1
took_seconds_sum{process="api-1"} 1
took_seconds_count{process="api-1"} 1
took_seconds_bucket{le="1",process="worker"} 0
took_seconds_bucket{le="+Inf",process="worker"} 1
took_seconds_sum{process="worker"} 20
took_seconds_count{process="worker"} 1

# HELP only_here Of one alone.
# TYPE only_here gauge
only_here{process="worker"} +Inf
`);
  });

  it('are told of what every request does as the library tells it', async () => {
    const told = async (kind: 'histogram' | 'durations') => {
      const metrics = new Metrics();
      const seconds = metrics[kind]({ name: 'took_seconds', help: 'Time.', labelNames: ['route', 'status'], buckets: [0.005, 1] });
      for (const took of [0.001, 0.005, 0.0051, 1, 7]) seconds.labels({ route: '/a "b"', status: '200' }).observe(took);
      seconds.labels({ route: '/c', status: '404' }).observe(0.5);
      metrics.registry.setDefaultLabels({ process: 'api-1' });
      const [family] = (await metrics.registry.getMetricsAsJSON()) as unknown as { values: object[] }[];
      return {
        ...family,
        values: family!.values.map((one) => ({ ...one, exemplar: null })),
        lines: (await metrics.text()).split('\n').length,
      };
    };
    expect(await told('durations')).toEqual(await told('histogram'));
  });

  it('are those of a process alone as they are', async () => {
    expect(await metricsOf(3).text()).toContain('requests_total{of="a{b} c"} 3\n');
    expect(together(['# HELP a b\n# TYPE a gauge\n'])).toBe('# HELP a b\n# TYPE a gauge\n');
  });
});

// Guard: a database that hangs made every scrape take too long, so that nobody was told that the process is not ready.
it('knows nothing of what fails, or does not answer in time', async () => {
  const metrics = new Metrics();
  expect(await metrics.known('seven', () => Promise.resolve(7))).toBe(7);
  expect(await metrics.known('seven', () => Promise.reject(new Error('no connection')))).toBeUndefined();
  metrics.knownMs = 1;
  let answer = (_: number): void => undefined;
  const hanging = (): Promise<number> => new Promise((resolve) => (answer = resolve));
  expect(await metrics.known('seven', hanging)).toBeUndefined();
  // Guard: whoever scrapes again and again would take every connection.
  const asked = jest.fn(() => Promise.resolve(8));
  expect(await metrics.known('seven', asked)).toBeUndefined();
  expect(asked).not.toHaveBeenCalled();
  answer(7);
  metrics.knownMs = 60_000;
  expect([await metrics.known('seven', asked), await metrics.known('seven', asked)]).toEqual([7, 8]);
}, 10_000);

// Guard: the page is open to everybody, and each look asks the database.
it('looks once for all who ask meanwhile, and again for who comes later', async () => {
  const metrics = new Metrics();
  let looks = 0;
  metrics.gauge({
    name: 'looked_at',
    help: 'Looks.',
    collect: async () => {
      looks++;
      await new Promise((resolve) => setImmediate(resolve));
    },
  });
  await Promise.all(Array.from({ length: 20 }, () => metrics.text()));
  expect(looks).toBe(1);
  await metrics.text();
  expect(looks).toBe(2);
});
