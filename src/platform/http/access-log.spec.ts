import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { problem, type ProblemError } from '../../contract/problems.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { AccessLog } from './access-log.js';
import type { OperationSpec } from './operation.js';
import { ProblemRenderer } from './problem.renderer.js';
import type { RequestsInWork } from './requests-in-work.js';

/** What is observed of an answer that took `ms`, of which its request rested for `restedMs`. */
async function observed(
  operation: OperationSpec,
  ms: number,
  restedMs: number,
  url = '/v0/things',
  statuses: readonly number[] = [200],
): Promise<string[]> {
  const inWork = { waitedMs: () => 0, restedMs: () => restedMs } as unknown as RequestsInWork;
  const access = new AccessLog(new AppLogger(createLogger('silent')), inWork);
  const metrics = new Metrics();
  access.use(metrics);
  const ended = access.forRoute({ url, config: { operation } } as unknown as RouteOptions);
  for (const statusCode of statuses)
    ended({ method: 'GET', raw: { url } } as FastifyRequest, { statusCode, elapsedTime: ms } as FastifyReply);
  return (await metrics.registry.metrics()).split('\n').filter((line) => /_duration_seconds_sum\{/.test(line));
}

const LABELS = '{method="GET",route="/v0/things",status="200"}';

describe('what is observed of a request', () => {
  it('is what it took, without what it was asked to wait for', async () => {
    const spec = { id: 'list-things', summary: 'Things' };
    expect(await observed(spec, 250, 0)).toEqual([`svc_http_request_duration_seconds_sum${LABELS} 0.25`]);
    expect(await observed(spec, 30_500, 30_000)).toEqual([`svc_http_request_duration_seconds_sum${LABELS} 0.5`]);
    expect(await observed(spec, 30_000, 30_000.1)).toEqual([`svc_http_request_duration_seconds_sum${LABELS} 0`]);
  });

  it('stands for itself where a program of a city has answered', async () => {
    const spec = { id: 'forward', summary: 'Services', forwarded: true };
    expect(await observed(spec, 60_000, 0)).toEqual([`svc_service_request_duration_seconds_sum${LABELS} 60`]);
  });

  // Guard: a program that answers with every number makes each scrape of the service 300 times as long, for good.
  it('has one place for all statuses that no standard names', async () => {
    const spec = { id: 'forward', summary: 'Services', forwarded: true };
    const numbers = Array.from({ length: 800 }, (_, n) => 200 + n);
    const lines = await observed(spec, 1_000, 0, '/v0/things', numbers);
    expect(lines.length).toBeLessThan(80);
    expect(lines.some((line) => line.includes('status="404"'))).toBe(true);
    expect(lines.filter((line) => line.includes('status="other"'))).toHaveLength(1);
  });

  // Guard: probes that outnumber callers hide that all of these fail, and raise an alarm where nobody calls.
  it('is nothing of a probe or a scrape', async () => {
    for (const url of ['/health', '/ready', '/metrics']) expect(await observed({ id: 'probe', summary: 'Probe' }, 1, 0, url)).toEqual([]);
  });
});

/** How many requests count as failed after this one was answered with a problem. */
async function failedWith(told: ProblemError | undefined, operation: OperationSpec = { id: 'things', summary: 'Things' }): Promise<number> {
  const log = new AppLogger(createLogger('silent'));
  const access = new AccessLog(log, { waitedMs: () => 0, restedMs: () => 0 } as unknown as RequestsInWork);
  const metrics = new Metrics();
  access.use(metrics);
  const request = { method: 'GET', raw: { url: '/v0/things', complete: true } } as FastifyRequest;
  const reply: any = { statusCode: 500, raw: {}, elapsedTime: 1, hasHeader: () => true, removeHeader: () => undefined };
  for (const name of ['header', 'send']) reply[name] = () => reply;
  reply.code = (status: number) => Object.assign(reply, { statusCode: status });
  if (told !== undefined) new ProblemRenderer(log).send(told, request, reply as FastifyReply);
  access.forRoute({ url: '/v0/things', config: { operation } } as unknown as RouteOptions)(request, reply as FastifyReply);
  return Number(/^svc_http_failures_total (\d+)$/m.exec(await metrics.registry.metrics())![1]);
}

// Guard: whoever looks at a city without maintenance, or sends to a webhook that nobody has made ready, wakes somebody.
it('counts as failed what is to be mended at the service, and nothing that anybody can ask for', async () => {
  for (const name of ['internal', 'unavailable', 'dependency_missing'] as const) expect(await failedWith(problem(name, 'why'))).toBe(1);
  expect(await failedWith(undefined)).toBe(1);
  const asked = ['maintenance_disabled', 'provider_not_ready', 'unsupported', 'not_implemented', 'bad_gateway'] as const;
  for (const name of [...asked, 'not_found'] as const) expect([name, await failedWith(problem(name, 'why'))]).toEqual([name, 0]);
  expect(await failedWith(problem('unavailable', 'not ready', { ofOthers: true }))).toBe(0);
  expect(await failedWith(undefined, { id: 'forward', summary: 'Services', forwarded: true })).toBe(0);
});
