import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { api, type Api } from '../../../../test/support/http.js';
import { problem } from '../../../contract/problems.js';
import { loadConfig } from '../../../platform/config/config.js';
import { createHttpApp } from '../../../platform/http/http-app.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { KeysController } from './keys.controller.js';
import { KeysService } from './keys.service.js';

const asked: unknown[] = [];
const stub = {
  create: (_caller: unknown, input: unknown) => {
    asked.push(input);
    return Promise.resolve({ id: 'a', key: 'svc_a_b' });
  },
  list: () => Promise.resolve({ items: [], total: 0 }),
  revoke: (_caller: unknown, id: string) =>
    id === '0'.repeat(12) ? Promise.reject(problem('not_found', `no such key: ${id}`)) : Promise.resolve(),
};

@Module({ controllers: [KeysController], providers: [{ provide: KeysService, useValue: stub }] })
class StubModule {}

describe('the key operations', () => {
  let app: NestFastifyApplication;
  let client: Api;
  beforeAll(async () => {
    const config = loadConfig({ SVC_DATABASE_URL: 'postgres://nobody@localhost/none' }, '/tmp');
    app = await createHttpApp(StubModule, config, new AppLogger(createLogger('silent')));
    await app.listen(0, '127.0.0.1');
    client = api(`http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`);
  });
  afterAll(() => app.close());
  beforeEach(() => void asked.splice(0));

  it('hand on what was asked for', async () => {
    expect((await client.post('/v0/keys', { name: 'ci' })).status).toBe(201);
    expect(asked).toEqual([{ name: 'ci' }]);
  });

  it.each([
    [{}, 'body.name'],
    [{ name: '' }, 'body.name'],
    [{ name: 'a\nb' }, 'body.name'],
    [{ name: 'a', scope: 'admin' }, 'body.scope'],
    [{ name: 'a', cities: [] }, 'body.cities'],
    [{ name: 'a', cities: ['a,b'] }, 'body.cities.0'],
    [{ name: 'a', expires: 1 }, 'body.expires'],
    [{ name: 'a', rights: ['everything'] }, 'body.rights.0'],
    [{ name: 'a', expires_at: 'tomorrow' }, 'body.expires_at'],
  ])('refuse %j', async (body, location) => {
    const reply = await client.post('/v0/keys', body);
    expect(reply.status).toBe(422);
    expect(reply.body.errors[0].location).toBe(location);
    expect(asked).toEqual([]);
  });

  it('list and revoke', async () => {
    expect((await client.get('/v0/keys')).body).toEqual({ items: [], total: 0 });
    expect((await client.delete('/v0/keys/aaaaaaaaaaaa')).body).toEqual({ status: 'ok' });
    expect((await client.delete(`/v0/keys/${'0'.repeat(12)}`)).body.detail).toBe(`not_found: no such key: ${'0'.repeat(12)}`);
    expect((await client.delete('/v0/keys/nope')).body.errors[0].location).toBe('path.id');
  });
});
