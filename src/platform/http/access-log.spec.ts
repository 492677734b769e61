import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { Metrics } from '../health/metrics.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { AccessLog } from './access-log.js';
import type { OperationSpec } from './operation.js';
import type { RequestsInWork } from './requests-in-work.js';

/** What is observed of an answer that took `ms`, of which its request rested for `restedMs`. */
async function observed(operation: OperationSpec, ms: number, restedMs: number, url = '/v0/things'): Promise<string[]> {
  const inWork = { waitedMs: () => 0, restedMs: () => restedMs } as unknown as RequestsInWork;
  const access = new AccessLog(new AppLogger(createLogger('silent')), inWork);
  const metrics = new Metrics();
  access.use(metrics);
  const ended = access.forRoute({ url, config: { operation } } as unknown as RouteOptions);
  ended({ method: 'GET', raw: { url } } as FastifyRequest, { statusCode: 200, elapsedTime: ms } as FastifyReply);
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

  // Guard: probes that outnumber callers hide that all of these fail, and raise an alarm where nobody calls.
  it('is nothing of a probe or a scrape', async () => {
    for (const url of ['/health', '/ready', '/metrics']) expect(await observed({ id: 'probe', summary: 'Probe' }, 1, 0, url)).toEqual([]);
  });
});
