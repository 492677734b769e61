import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEEP } from '../../../test/support/depth.js';
import { anyText } from '../../../test/support/any-text.js';
import { api, type Api } from '../../../test/support/http.js';
import { openDoor, type Door } from './testing/front-door.js';

/** Whatever arrives, the answer is never a 5xx (the fixture's own `bug` and `busy` names aside) and never without an id. */
const segment = fc.oneof(
  fc.constantFrom(
    'v0',
    'things',
    'health',
    '..',
    '.',
    '%2e%2e',
    '%00',
    '%zz',
    '%ff',
    '%2f',
    ':id',
    '*',
    '//',
    '\\',
    '__proto__',
    '%ED%A0%80',
  ),
  fc.string({ maxLength: 20 }).map((s) => encodeURIComponent(s.toWellFormed())),
  fc.stringMatching(/^[!-~]{0,20}$/),
);
const path = fc.tuple(fc.array(segment, { maxLength: 5 }), fc.array(fc.tuple(segment, segment), { maxLength: 4 })).map(([parts, query]) => {
  const text = `/${parts.join('/')}`.replaceAll('#', '');
  return query.length === 0 ? text : `${text}?${query.map(([k, v]) => `${k}=${v}`.replaceAll('#', '')).join('&')}`;
});
const body = fc.oneof(
  fc.json(),
  anyText(200),
  fc.anything({ withNullPrototype: true, maxDepth: 4 }).map((v) => safeJson(v)),
  fc.constantFrom('', '{', 'null', '[]', '"x"', '1e999', '{"name":"a","extra":{"toString":1,"constructor":{"prototype":1}}}'),
);
const type = fc.constantFrom(
  'application/json',
  'application/json; charset=latin1',
  'APPLICATION/JSON',
  'text/plain',
  'x',
  'multipart/form-data',
  undefined,
);

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}

describe('the front door under fire', () => {
  let door: Door;
  let client: Api;
  beforeAll(async () => {
    door = await openDoor();
    client = api(door.url);
  });
  afterAll(() => door.close());

  it('never fails on a path or a query', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE'), path, async (method, target) => {
        const reply = await client.send(method, target);
        expect(reply.status).toBeLessThan(500);
        expect(reply.headers.get('x-svc-request-id')).toMatch(/^[0-9a-f]{16}$/);
        if (reply.status >= 400) expect(reply.headers.get('content-type')).toBe('application/problem+json');
      }),
      { numRuns: DEEP ? 400 : 100, seed: 20261121 },
    );
  });

  it('never fails on a body', async () => {
    await fc.assert(
      fc.asyncProperty(body, type, fc.option(fc.string({ maxLength: 40 })), async (text, contentType, key) => {
        const idempotency = key === null || /[^\x20-\x7e]/.test(key) ? undefined : key;
        const reply = await client.post('/v0/things', text, { 'Content-Type': contentType, 'Idempotency-Key': idempotency });
        expect(reply.status).toBeLessThan(500);
        if (reply.status >= 400)
          expect(reply.body).toMatchObject({
            status: reply.status,
            instance: `urn:supervisor:request:${reply.headers.get('x-svc-request-id')}`,
          });
      }),
      { numRuns: DEEP ? 400 : 100, seed: 20261121 },
    );
  });
});
