import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Collector } from '../support/collector.js';
import { cloneDatabase, type TestDatabase } from '../support/database.js';
import { api, outcome, type Api } from '../support/http.js';
import { eventually } from '../support/sse.js';
import { askedBy, seriesOf } from '../support/promql.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SECRET = 'what-nobody-is-to-read';

describe('two processes that tell a collector what they do', () => {
  let collector: Collector;
  let database: TestDatabase;
  let dir: string;
  let client: Api;
  const processes: SupervisorProcess[] = [];

  beforeAll(async () => {
    [collector, database, dir] = await Promise.all([Collector.listen(), cloneDatabase(), mkdtemp(join(tmpdir(), 'svc-test-'))]);
    const env = {
      SVC_DATABASE_URL: database.url,
      SVC_DATA_DIR: dir,
      SVC_LOG_LEVEL: 'info',
      SVC_RUNNER_ISOLATION: 'none',
      SVC_PROVIDER_CHECK: 'off',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=ours',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    };
    const served = spawnSupervisor({ ...env, SVC_ROLE: 'api', OTEL_SERVICE_NAME: 'our-api' });
    processes.push(served);
    const url = await served.ready();
    client = api(url);
    const worker = spawnSupervisor({ ...env, SVC_ROLE: 'worker', SVC_API_URL: url, OTEL_SERVICE_NAME: 'our-worker' });
    processes.push(worker);
    await worker.ready();
  });
  afterAll(async () => {
    for (const { child } of processes) child.kill('SIGTERM');
    await Promise.all(processes.map(({ exited }) => exited));
    await database?.drop();
    await collector?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const traced = (name: string, service: string, trace = TRACE) =>
    collector.spans.find((span) => span.name === name && span.traceId === trace && span.resource['service.name'] === service);
  const of = (id: string | undefined) => collector.spans.find(({ spanId }) => spanId === id);

  it("makes a request part of its client's trace, and what comes of it in another process too", async () => {
    const reply = await client.post('/v0/city', { dir: 'traced', provider: 'loopback' }, { traceparent: `00-${TRACE}-${PARENT}-01` });
    expect(outcome(reply)).toBe(202);
    const request = await collector.until(() => traced('POST /v0/city', 'our-api'));
    expect(request).toMatchObject({
      parentSpanId: PARENT,
      attributes: { 'http.route': '/v0/city', 'svc.request_id': reply.headers.get('x-svc-request-id') },
      resource: { 'deployment.environment.name': 'test', 'svc.role': 'api' },
    });
    const operation = await collector.until(() => traced('operation city.create', 'our-worker'));
    expect(operation.attributes).toMatchObject({ 'svc.operation.id': reply.body.request_id, 'svc.city': 'traced' });
    // From the worker's operation through a transaction of the api to the request.
    const transaction = await collector.until(() => of(operation.parentSpanId));
    expect([transaction.name, transaction.resource['service.name'], transaction.parentSpanId]).toEqual([
      'transaction',
      'our-api',
      request.spanId,
    ]);
    await collector.until(() =>
      collector.spans.some(({ name, parentSpanId }) => name === 'transaction' && parentSpanId === operation.spanId),
    );
  });

  it('follows a message through the start of its session to the turn of the agent', async () => {
    const trace = TRACE.replace('4b', '5c');
    const made = { kind: 'provider', name: 'loopback', message: SECRET };
    const asked = { traceparent: `00-${trace}-${PARENT}-01` };
    const reply = await eventually(async () => {
      const found = await client.post('/v0/city/traced/sessions', made, asked);
      return found.status === 202 && found;
    });
    const turn = await collector.until(() => traced('agent turn', 'our-worker', trace));
    const start = await collector.until(() => traced('session start', 'our-worker', trace));
    expect(start.attributes['svc.session.id']).toBe(reply.body.session_id);
    expect(turn.attributes['svc.city']).toBe('traced');
    const request = await collector.until(() => collector.spans.find((span) => span.traceId === trace && span.parentSpanId === PARENT));
    expect(request.resource['service.name']).toBe('our-api');
  });

  it('sends what the log says, with the trace, and what is counted', async () => {
    const line = await collector.until(() => collector.logs.find(({ body, traceId }) => body === 'request' && traceId === TRACE));
    expect(line.resource['service.name']).toBe('our-api');
    await collector.until(() => collector.logs.find(({ body, traceId }) => body === 'operation ended' && traceId === TRACE));
    expect(processes[0]!.output()).toContain(`"trace_id":"${TRACE}"`);
    const seconds = await collector.until(() => collector.metrics.find(({ name }) => name === 'svc_http_request_duration_seconds'));
    expect(seconds.kind).toBe('histogram');
    expect(collector.headers['x-tenant']).toBe('ours');
  });

  it('says nothing of what was said, asked for or shown', async () => {
    await client.get(`/v0/cities?cursor=${SECRET}`, { authorization: `Bearer svc_${SECRET}` });
    const before = collector.spans.length;
    await client.get('/v0/cities', { traceparent: 'not one' });
    await collector.until(() => collector.spans.length > before + 1);
    expect(collector.text).not.toContain(SECRET);
  });

  it('has every name and label that the dashboard and the alerts ask for', async () => {
    const urls = await Promise.all(processes.map((one) => one.ready()));
    const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
    // The other metric of a certificate is there where one is.
    const series = seriesOf(`${texts.join('\n')}\n# TYPE svc_tls_certificate_expiry_timestamp_seconds gauge`);
    const dashboard: any = JSON.parse(await readFile('deploy/observability/dashboard.json', 'utf8'));
    const rules: any = parse(await readFile('deploy/observability/alerts.yml', 'utf8'));
    const queries: string[] = [
      ...dashboard.panels.flatMap(({ targets }: any) => targets.map(({ expr }: any) => expr)),
      ...rules.groups.flatMap((group: any) => group.rules.map(({ expr }: any) => expr)),
    ];
    const asked = queries.flatMap(askedBy);
    expect(asked.length).toBeGreaterThan(40);
    const stale = asked.flatMap(({ name, labels }) =>
      series.has(name) ? labels.filter((label) => !series.get(name)!.has(label)).map((label) => `${name}{${label}}`) : [name],
    );
    expect(stale).toEqual([]);
    for (const { alert, annotations, labels } of rules.groups.flatMap((group: any) => group.rules))
      expect({ alert, annotations, labels }).toEqual({
        alert: expect.stringMatching(/^Svc[A-Z]/),
        annotations: { summary: expect.any(String), description: expect.any(String) },
        labels: { severity: expect.stringMatching(/^(warning|critical)$/) },
      });
  });
});
