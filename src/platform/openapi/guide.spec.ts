import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { api, type Api } from '../../../test/support/http.js';
import { loadConfig } from '../config/config.js';
import { createHttpApp } from '../http/http-app.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { serveGuide } from './guide.js';

@Module({})
class EmptyModule {}

describe('the guide', () => {
  let app: NestFastifyApplication;
  let client: Api;
  let built: string;
  let url: string;
  beforeAll(async () => {
    built = await mkdtemp(join(tmpdir(), 'svc-guide-'));
    await mkdir(join(built, 'guide/how-to'), { recursive: true });
    await mkdir(join(built, 'schemas'));
    const files = {
      'guide/index.html': '<!doctype html><p>the guide</p>',
      'guide/how-to/work.html': '<!doctype html><p>work</p>',
      'guide/search.js': 'export {};',
      'guide/.built.json': '[]',
      'schemas/city.toml.json': '{"title":"city.toml"}',
      'secret.html': 'a secret',
    };
    for (const [file, text] of Object.entries(files)) await writeFile(join(built, file), text);
    const config = loadConfig({ SVC_DATABASE_URL: 'postgres://nobody@localhost/none', SVC_AUTH: 'off' }, '/tmp');
    const extend = (to: NestFastifyApplication): void => serveGuide(to, built);
    app = await createHttpApp(EmptyModule, config, new AppLogger(createLogger('silent')), { extend });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    client = api(url);
  });
  afterAll(async () => {
    await app.close();
    await rm(built, { recursive: true, force: true });
  });

  it.each([
    ['/guide', 'text/html; charset=utf-8', 'the guide'],
    ['/guide/how-to/work', 'text/html; charset=utf-8', 'work'],
    ['/guide/search.js', 'text/javascript; charset=utf-8', 'export'],
    ['/schemas/city.toml.json', 'application/json; charset=utf-8', 'city.toml'],
  ])('has %s, which may load nothing from elsewhere', async (path, type, text) => {
    const reply = await client.get(path);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, type]);
    expect(reply.text).toContain(text);
    expect(reply.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';(?!.*unsafe)/);
    const again = await client.get(path, { 'If-None-Match': reply.headers.get('etag')! });
    expect(again.status).toBe(304);
  });

  it.each([
    '/guide/.built.json',
    '/guide/nothing',
    '/guide/how-to',
    '/guide/%2e%2e/secret',
    '/guide/..%2fsecret',
    '/guide/../secret',
    '/schemas/nothing.json',
    '/schemas/..%2fsecret',
  ])('has nothing at %s', async (path) => {
    const reply = await client.get(path);
    expect([reply.status, reply.body.code]).toEqual([404, 'not-found']);
  });

  it('leads to its first page', async () => {
    const reply = await fetch(`${url}/guide/`, { redirect: 'manual' });
    expect([reply.status, reply.headers.get('location')]).toEqual([302, '/guide']);
  });
});
