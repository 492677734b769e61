import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { api } from '../../../test/support/http.js';
import { openDoor } from './testing/front-door.js';
import { parseQuery, refusedTarget, routableTarget } from './target.js';

const names = (count: number): string => Array.from({ length: count }, (_, i) => i).join('&');
const code = (url: string, noQuery = false): string | undefined => refusedTarget(url, noQuery)?.kind.code;

describe('a request target', () => {
  it('has 2,000 parameters at the most', () => {
    expect(code(`/things?${names(2_000)}`)).toBeUndefined();
    expect(code(`/things?${names(2_001)}`)).toBe('uri-too-long');
    expect(code(`/things?${names(2_001)}`, true)).toBe('uri-too-long');
    expect(code(`/things?${'a&'.repeat(2_000)}`)).toBe('uri-too-long');
    // For the router a query begins there, too.
    expect(code(`/things#${names(2_001)}`)).toBe('uri-too-long');
  });

  it('is told 20 of the parameters that nobody declares', () => {
    expect(refusedTarget(`/things?${names(2_000)}`, true)?.errors).toHaveLength(20);
  });

  it('is read up to there, also when nobody is going to look at it', async () => {
    let read: number | undefined;
    const extend = (app: { getHttpAdapter(): { getInstance(): unknown } }): void => {
      (app.getHttpAdapter().getInstance() as FastifyInstance).addHook('onRequest', (request, _reply, done) => {
        read = Object.keys(request.query as object).length;
        done();
      });
    };
    const door = await openDoor({}, { extend });
    try {
      const answers = [await api(door.url).get(`/health?${names(3_000)}`), await api(door.url).get(`/nowhere?${names(3_000)}`)];
      expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
        [414, 'uri-too-long'],
        [414, 'uri-too-long'],
      ]);
      expect(read).toBe(2_000);
    } finally {
      await door.close();
    }
  });
});

describe('a path', () => {
  it('has 16 KiB at the most, whatever its query has', () => {
    const path = `/${'x'.repeat(16_383)}`;
    expect([code(path), code(`${path}x`), code(`${path}?${'x'.repeat(20_000)}`), code(`${path}x?x`)]).toEqual([
      undefined,
      'uri-too-long',
      undefined,
      'uri-too-long',
    ]);
    for (const kept of [path, `/a%2561?${'%41'.repeat(10_000)}`, `/a#${'x'.repeat(20_000)}`]) expect(routableTarget(kept)).toBe(kept);
  });

  it('is routed no further than that', async () => {
    const routed: string[] = [];
    const extend = (app: { getHttpAdapter(): { getInstance(): unknown } }): void => {
      const { server } = app.getHttpAdapter().getInstance() as FastifyInstance;
      server.on('request', ({ url }: IncomingMessage) => routed.push(url!));
    };
    const door = await openDoor({}, { extend });
    try {
      for (const path of [`/health/${'%2561'.repeat(90_000)}`, `/v0/things/${'%E2%82%AC'.repeat(10_000)}?a=b`])
        expect(await api(door.url).get(path)).toMatchObject({ status: 414, body: { code: 'uri-too-long' } });
      expect(routed).toEqual([expect.stringMatching(/^\/health\/[^%]{16377}$/), expect.stringMatching(/^\/v0\/things\/[^%]{16374}$/)]);
    } finally {
      await door.close();
    }
  });
});

describe('a query', () => {
  it.each([
    ['', {}],
    ['a=1&b=&c', { a: '1', b: '', c: '' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a+b=c+d&%41=%E2%82%AC%26', { 'a b': 'c d', A: '€&' }],
    ['&&a=b=c&', { a: 'b=c' }],
    ['a=%zz', { a: '%zz' }],
  ])('is read as forms are: %s', (query, expected) => {
    expect({ ...parseQuery(query) }).toEqual(expected);
  });

  it('names nothing that every object has', () => {
    const read = parseQuery('__proto__=1&constructor=2');
    expect([Object.keys(read), Object.getPrototypeOf(read)]).toEqual([['__proto__', 'constructor'], null]);
  });
});
