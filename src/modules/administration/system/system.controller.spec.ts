import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { api, type Api } from '../../../../test/support/http.js';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import { VERSION } from '../../../contract/version.js';
import { AppConfig, loadConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { HealthModule } from '../../../platform/health/health.module.js';
import { Readiness } from '../../../platform/health/readiness.js';
import { Authenticator } from '../../../platform/http/authenticator.js';
import { createHttpApp } from '../../../platform/http/http-app.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { LoggingModule } from '../../../platform/logging/logging.module.js';
import { Clock } from '../../../platform/time/clock.js';
import { SystemController } from './system.controller.js';
import { SystemRepository, type CityCounts } from './system.repository.js';
import { SystemService } from './system.service.js';

/** What the database says: counts, an error, or nothing at all. */
let answer: () => Promise<CityCounts>;
let asked = 0;
class StillClock extends Clock {
  ms = 0;
  override monotonic(): number {
    return this.ms;
  }
}
const clock = new StillClock();
const repository = {
  countCities: () => {
    asked++;
    return answer();
  },
};

/** What the process was told; the front door of a worker knows no keys. */
const settings: { auth: 'keys' | 'off' } = { auth: 'off' };
const KEYS: Readonly<Record<string, Principal>> = {
  root: { ...ANYBODY, keyId: 'r', actor: 'root' },
  local: { ...ANYBODY, keyId: 'l', actor: 'local', cities: ['mine'] },
};

@Module({
  controllers: [SystemController],
  providers: [
    SystemService,
    { provide: Clock, useValue: clock },
    { provide: SystemRepository, useValue: repository },
    { provide: Db, useValue: {} },
    { provide: AppConfig, useValue: settings },
    { provide: Authenticator, useValue: { authenticate: (token: string) => KEYS[token] } },
  ],
})
class StubModule {}

describe('health, readiness and metrics', () => {
  let app: NestFastifyApplication;
  let client: Api;
  beforeAll(async () => {
    const config = loadConfig({ SVC_DATABASE_URL: 'postgres://nobody@localhost/none' }, '/tmp');
    const logger = new AppLogger(createLogger('silent'));
    const root = { module: StubModule, imports: [LoggingModule.forRoot(logger), HealthModule] };
    app = await createHttpApp(root, config.with({ auth: 'keys' }), logger);
    await app.listen(0, '127.0.0.1');
    client = api(`http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`);
  });
  afterAll(() => app.close());

  it('counts cities at most once a second', async () => {
    answer = () => Promise.resolve({ total: 3, running: 2, starting: 'starting_agents' });
    const replies = await Promise.all([1, 2, 3].map(() => client.get('/health')));
    for (const { status, body } of replies) {
      expect(status).toBe(200);
      expect(body).toEqual({
        status: 'ok',
        version: VERSION,
        uptime_sec: expect.any(Number),
        cities_total: 3,
        cities_running: 2,
        startup: { ready: false, phase: 'starting_agents' },
      });
    }
    clock.ms = 999;
    await client.get('/health');
    expect(asked).toBe(1);
  });

  // Guard: without a key there is nothing to learn from health.
  it('counts for keys that may see every city, where keys are needed', async () => {
    settings.auth = 'keys';
    try {
      for (const key of [undefined, 'Bearer local', 'Bearer nonsense', 'Basic x']) {
        const { status, body } = await client.get('/health', key === undefined ? {} : { Authorization: key });
        expect({ key, status, body }).toMatchObject({ key, status: 200, body: { cities_total: -1, cities_running: -1 } });
        expect(body.startup).toEqual({ ready: false });
      }
      const told = { cities_total: 3, cities_running: 2, startup: { ready: false, phase: 'starting_agents' } };
      expect((await client.get('/health', { Authorization: 'Bearer root' })).body).toMatchObject(told);
    } finally {
      settings.auth = 'off';
    }
  });

  it('stays alive when the database fails or does not answer, and counts nothing', async () => {
    const unknown = { status: 'ok', cities_total: -1, cities_running: -1, startup: { ready: false, phase: 'waiting_for_database' } };
    clock.ms += 1_000;
    answer = () => Promise.reject(new Error('down'));
    expect((await client.get('/health')).body).toMatchObject(unknown);
    clock.ms += 1_000;
    answer = () => new Promise(() => undefined);
    expect((await client.get('/health')).body).toMatchObject(unknown);
  });

  it('is ready unless a part says what is wrong', async () => {
    const readiness = app.get(Readiness);
    readiness.register('queue', () => undefined);
    expect(await client.get('/ready')).toMatchObject({ status: 200, body: { status: 'ready', parts: ['queue'] } });
    readiness.register('database', () => 'connection refused');
    const reply = await client.get('/ready');
    expect(reply.status).toBe(503);
    expect(reply.body).toMatchObject({
      detail: 'unavailable: not ready: database',
      errors: [{ location: 'database', message: 'connection refused' }],
    });
  });

  // Guard: a balancer that takes all processes out for a part without which each of them serves.
  it('is ready for who leaves out the part that fails', async () => {
    expect(await client.get('/ready?exclude=database')).toMatchObject({ status: 200, body: { status: 'ready', parts: ['queue'] } });
    expect((await client.get('/ready?exclude=queue,database&exclude=other')).body.parts).toEqual([]);
    expect((await client.get('/ready?exclude=queue')).status).toBe(503);
    expect((await client.get('/ready?without=database')).status).toBe(422);
  });

  it('exposes requests by method, route and status', async () => {
    await client.get('/nope');
    await client.get('/health');
    const reply = await client.get('/metrics');
    expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.text).toContain('svc_http_request_duration_seconds_count{method="other",route="unmatched",status="404"}');
    expect(reply.text).not.toContain('route="/health"');
  });
});
