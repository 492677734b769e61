import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { acceptedEncoding } from './encodings.js';
import { openDoor, type Door } from './testing/front-door.js';

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const LONG = JSON.stringify({ text: 'agents of cities '.repeat(1_000) });
const OPERATION = { id: 'tagged', summary: 'Tagged' };
const JSON_TYPE = 'application/json; charset=utf-8';

describe('answers that clients take compressed', () => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(
      {},
      {
        extend: (app) => {
          const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
          const answers: readonly [string, object, string][] = [
            ['/v0/tagged', OPERATION, JSON_TYPE],
            ['/v0/lines', OPERATION, 'text/plain'],
            ['/v0/forwarded', { ...OPERATION, public: true, forwarded: true }, JSON_TYPE],
          ];
          for (const [path, operation, type] of answers)
            fastify.get(path, { config: { operation } as never }, (request, reply) => {
              const known = request.headers['if-none-match'] !== undefined;
              return reply
                .code(known ? 304 : 200)
                .headers({ 'content-type': type, etag: '"7"' })
                .send(known ? undefined : LONG);
            });
        },
      },
    );
  });
  afterAll(() => door.close());

  /** The body is as it was before it was compressed. */
  const as = async (path: string, encoding = 'gzip', more = {}, method = 'GET'): Promise<Reply> => {
    const reply = await fetch(`${door.url}${path}`, { method, headers: { 'Accept-Encoding': encoding, ...more } });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  };
  const told = ({ headers }: Reply): unknown[] => ['content-encoding', 'etag', 'vary'].map((name) => headers.get(name));
  const length = ({ headers }: Reply): number => Number(headers.get('content-length'));

  it.each([
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['br', 'br'],
  ])('are so to %s, under a weak tag', async (header, encoding) => {
    const reply = await as('/v0/tagged', header);
    expect(reply.text).toBe(LONG);
    expect(told(reply)).toEqual([encoding, 'W/"7"', 'Origin, Accept-Encoding']);
    expect(length(reply)).toBeLessThan(LONG.length / 10);
  });

  it('stay as they are for who does not say so, under their own tag', async () => {
    const reply = await as('/v0/tagged', 'identity');
    expect([reply.text, length(reply), ...told(reply)]).toEqual([LONG, LONG.length, null, '"7"', 'Origin, Accept-Encoding']);
  });

  it('stay as they are where they are short, no JSON, a refusal or what a program of a city says', async () => {
    expect(told(await as('/v0/text'))).toEqual([null, null, 'Origin, Accept-Encoding']);
    expect(told(await as('/v0/lines'))).toEqual([null, '"7"', 'Origin']);
    expect(told(await as('/v0/forwarded'))).toEqual([null, '"7"', 'Origin']);
    const refused = await as(`/v0/things/x?${Array.from({ length: 90 }, (_, n) => `none${n}=1`).join('&')}`);
    expect([refused.status, refused.text.length > 1_024, ...told(refused)]).toEqual([422, true, null, null, 'Origin']);
  });

  it('have the same head for HEAD', async () => {
    const [get, head] = [await as('/v0/tagged'), await as('/v0/tagged', 'gzip', {}, 'HEAD')];
    expect([head.text, length(head), ...told(head)]).toEqual(['', length(get), ...told(get)]);
  });

  it('are not sent again to who has them in any form', async () => {
    const reply = await as('/v0/tagged', 'gzip', { 'If-None-Match': 'W/"7"' });
    expect([reply.status, reply.text, ...told(reply)]).toEqual([304, '', null, 'W/"7"', 'Origin, Accept-Encoding']);
  });
});

describe('the encoding that a client takes', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['*', undefined],
    ['identity', undefined],
    ['br;q=0, gzip', 'gzip'],
    ['GZIP ; q=0.5', 'gzip'],
    ['gzip;q=1.0,br;q=0.9', 'br'],
    ['gzip;q=0.000', undefined],
    [`gzip${', x'.repeat(1_000)}`, undefined],
  ])('of %j is %s', (header, encoding) => {
    expect(acceptedEncoding(header)).toBe(encoding);
  });

  it('is one of those that there are', () => {
    expect(acceptedEncoding('br, gzip', ['gzip'])).toBe('gzip');
  });
});
