import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { api, type Api, type Reply } from '../../../test/support/http.js';
import { loadConfig } from '../config/config.js';
import { createHttpApp } from '../http/http-app.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { serveDocs } from './docs.js';

@Module({})
class EmptyModule {}

describe('the documentation pages', () => {
  let app: NestFastifyApplication;
  let client: Api;
  let url: string;
  beforeAll(async () => {
    const config = loadConfig({ SVC_DATABASE_URL: 'postgres://nobody@localhost/none' }, '/tmp');
    app = await createHttpApp(EmptyModule, config, new AppLogger(createLogger('silent')), { extend: serveDocs });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    client = api(url);
  });
  afterAll(() => app.close());

  it('serve the document', async () => {
    const reply = await client.get('/openapi.json');
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.body).toMatchObject({ openapi: '3.1.0', components: { schemas: { ErrorModel: { type: 'object' } } } });
  });

  it.each([
    ['/docs', 'text/html'],
    ['/docs/', 'text/html'],
    ['/docs/swagger-ui-init.js', 'application/javascript'],
    ['/docs/swagger-ui.css', 'text/css'],
    ['/docs/swagger-ui-bundle.js', 'application/javascript'],
  ])('serve %s as %s behind the front door', async (path, type) => {
    const reply = await client.get(path);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toContain(type);
    expect(reply.headers.get('x-svc-request-id')).toMatch(/^[0-9a-f]{16}$/);
    expect((await client.get(path, { Host: 'evil.com' })).status).toBe(421);
  });

  it.each(['/docs', '/docs/swagger-ui-init.js', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json'])(
    'send %s compressed as the client can take it, and not again to who has it',
    async (path) => {
      const as = (encoding: string, more = {}): Promise<Reply> => client.get(path, { 'Accept-Encoding': encoding, ...more });
      const [plain, zipped, br] = [await as('identity'), await as('gzip'), await as('gzip, br;q=0.9')];
      expect([plain, zipped, br].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip', 'br']);
      const bytes = ({ headers }: Reply): number => Number(headers.get('content-length'));
      for (const one of [zipped, br]) expect(bytes(one)).toBeLessThan(bytes(plain));
      expect((await as('br;q=0')).headers.get('content-encoding')).toBeNull();
      const etag = plain.headers.get('etag')!;
      expect([etag, br.headers.get('etag'), br.headers.get('vary')]).toEqual([
        expect.stringMatching(/^".{22}"$/),
        `W/${etag}`,
        'Origin, Accept-Encoding',
      ]);
      expect(await as('br', { 'If-None-Match': `"other", ${etag}` })).toMatchObject({ status: 304, text: '' });
      expect((await fetch(`${url}${path}`)).status).toBe(200);
      expect((await client.send('HEAD', path)).status).toBe(200);
    },
  );

  it('send the anti-CSRF header with what they try out', async () => {
    expect((await client.get('/docs/swagger-ui-init.js')).text).toContain("headers['X-SVC-Request'] = 'docs'");
  });

  it.each(['/docs/nothing.js', '/docs/LICENSE', '/docs/package.json', '/docs/..%2fpackage.json', '/docs/%2e%2e/package.json'])(
    'have nothing at %s',
    async (path) => {
      const reply = await client.get(path);
      expect({ status: reply.status, body: reply.body }).toMatchObject({ status: 404, body: { code: 'not-found' } });
    },
  );

  it('refuse another method as any path does', async () => {
    const reply = await client.post('/docs/swagger-ui.css', {});
    expect({ status: reply.status, allow: reply.headers.get('allow') }).toEqual({ status: 405, allow: 'GET, HEAD, OPTIONS' });
  });

  it('may run no script but their own', async () => {
    for (const path of ['/docs', '/docs/swagger-ui-bundle.js'])
      expect((await client.get(path)).headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  });
});
