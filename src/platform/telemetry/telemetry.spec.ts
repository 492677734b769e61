import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Collector } from '../../../test/support/collector.js';
import { api } from '../../../test/support/http.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { loadConfig } from '../config/config.js';
import { unknownTelemetry } from '../config/telemetry.js';
import { openDoor } from '../http/testing/front-door.js';
import { AppLogger } from '../logging/logger.js';
import { Away } from './away.js';
import { currentSpan, part, spanned, within } from './spans.js';
import { startTelemetry, type Telemetry } from './telemetry.js';

const DATABASE = { SVC_DATABASE_URL: 'postgres://nobody@localhost/none' };
const ON = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' };
const settings = (env: Record<string, string>) => loadConfig({ ...DATABASE, ...env }, '/tmp').telemetry;

/** Packages of OpenTelemetry that a process loads which has everything of a supervisor, and starts its telemetry. */
function loadedWith(env: Record<string, string>): string[] {
  const at = (file: string): string => JSON.stringify(path.resolve(file));
  const program = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ resolve: (name, context, next) => {
      const found = next(name, context);
      const one = /node_modules\\/(@opentelemetry\\/[^/]+)\\//.exec(found.url)?.[1];
      if (one !== undefined) seen.add(one);
      return found;
    } });
    const { Supervisor } = await import(${at('src/entry/supervisor.ts')});
    const { loadConfig } = await import(${at('src/platform/config/config.ts')});
    const { startTelemetry } = await import(${at('src/platform/telemetry/telemetry.ts')});
    const config = loadConfig(process.env, '/tmp');
    const { logger } = new Supervisor(config);
    await (await startTelemetry(config, logger))?.stop();
    console.log(JSON.stringify([...seen].sort()));
    process.exit();`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', path.resolve('scripts/typescript.mjs'), '--input-type=module', '--eval', program],
    { env: { PATH: process.env.PATH, ...DATABASE, ...env }, encoding: 'utf8' },
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as string[];
}

/** Hooks of a route of the front door, as the router gets them. */
async function hooksOf(route: string): Promise<number> {
  let hooks = 0;
  const extend = (app: NestFastifyApplication): void => {
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('onRoute', ({ url, method, onRequest, preHandler }) => {
        if (url === route && [method].flat().includes('GET'))
          hooks = [onRequest, preHandler].flat().filter((hook) => hook !== undefined).length;
      });
  };
  const door = await openDoor({}, { extend });
  await door.close();
  return hooks;
}

describe('telemetry that nobody has asked for', () => {
  // prom-client loads the API by itself.
  it('is not loaded', () => {
    expect(loadedWith({})).toEqual(['@opentelemetry/api']);
    expect(loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).toEqual(
      expect.arrayContaining(['@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/sdk-trace', '@opentelemetry/sdk-metrics']),
    );
  });

  it('adds nothing to a request, and makes no spans', async () => {
    const before = await hooksOf('/v0/text');
    const telemetry = await startTelemetry(loadConfig({ ...DATABASE, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, '/tmp'), quiet());
    expect(await hooksOf('/v0/text')).toBe(before + 2);
    await telemetry!.stop();
    expect(await hooksOf('/v0/text')).toBe(before);
    expect(await spanned('nothing', { kind: 'internal', parent: undefined }, () => Promise.resolve(currentSpan()))).toBe(undefined);
  });

  it.each([
    ['nothing is said', {}],
    ['it is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }],
    ['another protocol is wanted', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    ['others send by what is not here', { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
    ['it is switched off, however others send', { ...ON, OTEL_SDK_DISABLED: 'TRUE', OTEL_LOGS_EXPORTER: 'console' }],
    ['each signal is switched off', { ...ON, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }],
  ])('is what there is when %s', (_what, env) => {
    expect(settings(env)).toBe(undefined);
  });
});

describe('the standard variables', () => {
  it('say where each signal goes, and what is kept', () => {
    expect(settings({ ...ON, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs/in', OTEL_METRICS_EXPORTER: 'none' })).toMatchObject({
      traces: 'http://c:4318/v1/traces',
      logs: 'http://logs/in',
      metrics: undefined,
      serviceName: 'supervisor-control-plane',
      sampler: { kind: 'on', followsParent: true },
    });
    expect(settings({ ...ON, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' })?.sampler).toEqual({
      kind: 'ratio',
      ratio: 0.1,
      followsParent: false,
    });
    expect(settings({ ...ON, OTEL_TRACES_SAMPLER: 'parentbased_always_off' })?.sampler).toMatchObject({ kind: 'off', followsParent: true });
    const others = { ...ON, OTEL_METRICS_EXPORTER: 'prometheus', OTEL_TRACES_EXPORTER: 'console, otlp' };
    expect(settings(others)).toMatchObject({ traces: 'http://c:4318/v1/traces', metrics: undefined });
    const metrics = { variable: 'OTEL_METRICS_EXPORTER', value: 'prometheus', instead: 'of these nothing is sent' };
    expect(unknownTelemetry(others)).toEqual([metrics]);
    expect(unknownTelemetry({ OTEL_METRICS_EXPORTER: 'prometheus' })).toEqual([]);
    expect(() => settings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT');
  });

  it.each(['jaeger_remote', 'xray'])('take the default for the sampler %s, which is not here', (sampler) => {
    const others = { ...ON, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://j:14250', OTEL_SDK_DISABLED: 'False' };
    expect(settings(others)?.sampler).toEqual({ kind: 'on', ratio: 1, followsParent: true });
    expect(unknownTelemetry(others)).toEqual([{ variable: 'OTEL_TRACES_SAMPLER', value: sampler, instead: 'the default is taken' }]);
  });
});

describe('spans', () => {
  let collector: Collector;
  let telemetry: Telemetry;
  beforeAll(async () => {
    collector = await Collector.listen();
    telemetry = (await startTelemetry(loadConfig({ ...DATABASE, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, '/tmp'), quiet()))!;
  });
  afterAll(async () => {
    await telemetry.stop();
    await collector.close();
  });
  const heard = (name: string) => collector.until(() => collector.spans.find((span) => span.name === name));

  it('tell what a part failed with, and nothing of what that says', async () => {
    const failing = (): Promise<void> => Promise.reject(Object.assign(new Error('the secret'), { code: '40001' }));
    await spanned('whole', { kind: 'internal', parent: undefined }, () => part('failing', { 'svc.city': 'a' }, failing)).catch(
      () => undefined,
    );
    const [whole, failed] = [await heard('whole'), await heard('failing')];
    expect(failed).toMatchObject({ parentSpanId: whole.spanId, attributes: { 'error.type': '40001', 'svc.city': 'a' } });
    expect(collector.text).not.toContain('the secret');
  });

  it('have no parts once they are over, nor where work goes on for others', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let late: Promise<unknown> = Promise.resolve();
    await spanned('short', { kind: 'internal', parent: undefined }, (span) => {
      late = ended.then(() => currentSpan() === undefined);
      expect(currentSpan() === span).toBe(true);
      expect(within(undefined, () => currentSpan())).toBe(undefined);
      return Promise.resolve();
    });
    end();
    expect(await late).toBe(true);
  });

  it('are made of requests, in the trace of whoever asks, but for probes', async () => {
    const door = await openDoor();
    const trace = 'a'.repeat(32);
    await api(door.url).get('/health', { traceparent: `00-${trace}-${'b'.repeat(16)}-01` });
    await api(door.url).get('/v0/text', { traceparent: `00-${trace}-${'b'.repeat(16)}-01` });
    const kept = await heard('GET /v0/text');
    expect(kept).toMatchObject({ traceId: trace, parentSpanId: 'b'.repeat(16), attributes: { 'http.response.status_code': 200 } });
    await api(door.url).get('/v0/things/1', { traceparent: `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01` });
    const own = await collector.until(() => collector.spans.find(({ attributes }) => attributes['http.route'] === '/v0/things/{id}'));
    expect(own.parentSpanId ?? '').toBe('');
    // A client's decision not to keep a trace is heeded.
    await api(door.url).get('/v0/text', { traceparent: `00-${'c'.repeat(32)}-${'b'.repeat(16)}-00` });
    await api(door.url).get('/v0/text', { traceparent: `00-${'d'.repeat(32)}-${'b'.repeat(16)}-01` });
    await collector.until(() => collector.spans.some(({ traceId }) => traceId === 'd'.repeat(32)));
    expect(collector.spans.filter(({ name, traceId }) => name === 'GET /health' || traceId === 'c'.repeat(32))).toEqual([]);
    await door.close();
  });
});

describe('a collector that is away', () => {
  it('is told of once a minute', () => {
    let now = 0;
    const said: unknown[] = [];
    const log = new AppLogger({ warn: (fields: unknown) => said.push(fields) } as never);
    const away = new Away(log, () => now);
    for (now = 0; now < 120_000; now += 1_000) away.say(new Error('connect ECONNREFUSED'));
    expect(said).toEqual([
      { error: 'connect ECONNREFUSED', times: 1 },
      { error: 'connect ECONNREFUSED', times: 60 },
    ]);
  });

  it('gets what waits for it and no more, and holds nobody up', async () => {
    const collector = await Collector.listen();
    collector.status = 400;
    const said: unknown[] = [];
    const log = new AppLogger({ warn: (fields: unknown) => said.push(fields) } as never);
    const telemetry = (await startTelemetry(loadConfig({ ...DATABASE, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, '/tmp'), log))!;
    for (let n = 0; n < 10_000; n++) await spanned('lost', { kind: 'internal', parent: undefined }, () => Promise.resolve());
    await collector.until(() => said.length > 0);
    await telemetry.stop();
    expect(collector.spans.length).toBeLessThan(6_000);
    expect(said.length).toBe(1);
    await collector.close();
  });
});

function quiet(): AppLogger {
  return new AppLogger({ warn: () => undefined } as never);
}
