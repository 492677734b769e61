import { appendFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { startStack, type Stack } from '../support/app.js';
import { DEEP } from '../support/depth.js';
import { checkAnswer, contract, type DocumentedOperation, type ParameterObject } from '../support/contract.js';
import { api, type Api } from '../support/http.js';
import { MAINTENANCE } from '../support/maintenance-examples.js';
import { sendRaw } from '../support/raw.js';
import { broken, fitting, hostileText, HOSTILE } from '../support/schema-arbitrary.js';
import { eventually } from '../support/sse.js';

/**
 * Every operation of the document under a seeded fire of fitting, broken and hostile requests. The client of
 * test/support refuses every answer that is not documented, leaks something, or is not a problem; here come the rules
 * beside: no 5xx, and the service is as well afterwards as before. SVC_FUZZ_RUNS and SVC_FUZZ_SEED go deeper by hand.
 */
const RUNS = Number(process.env.SVC_FUZZ_RUNS ?? (DEEP ? 40 : 10));
const SEED = Number(process.env.SVC_FUZZ_SEED ?? 20261121);
const { document, operations } = contract();
const { schemas } = document.components;

interface Shot {
  readonly target: string;
  readonly body: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

let stack: Stack;
let client: Api;

beforeAll(async () => {
  stack = await startStack();
  client = api(stack.urls[0]!);
  for (const dir of ['alpha', 'beta']) expect((await client.post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await client.get('/health')).body.cities_running === 2);
  // What a city does not want is refused with 503, whatever is asked.
  await appendFile(join(stack.citiesRoot, 'alpha/city.toml'), MAINTENANCE);
  expect((await client.post('/v0/city/alpha/config/reload')).status).toBe(200);
});
afterAll(() => stack.stop());

const escapes = (text: string): string => encodeURIComponent(text.toWellFormed());
/** A text as it may stand in a target: escaped, or raw where HTTP lets it pass. */
const inTarget = hostileText.chain((text) =>
  fc
    .boolean()
    .map((raw) =>
      raw && /^[\x21-\x7e]+$/.test(text) && !/[?#/]/.test(text) && text.length < 2_000 ? text : escapes(text.slice(0, 8_000)),
    ),
);

/** Lifecycle operations have cities of their own, so that the others keep finding `alpha` running. */
function pathArbitrary(operation: DocumentedOperation): fc.Arbitrary<string> {
  const destroys = /\/(stop|start|unregister)$/.test(operation.path);
  const good = fc.constantFrom(...(destroys ? ['beta', 'beta', 'gamma'] : ['alpha', 'alpha', 'alpha', 'alpha', 'nobody']));
  const city = fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: inTarget.filter((text) => text !== '') });
  const id = fc.oneof(
    fc.stringMatching(/^[0-9a-f]{12}$/),
    fc.constantFrom('mayor', 'loopback', 'suspend'),
    inTarget.filter((text) => text !== ''),
  );
  return fc.tuple(city, id).map(([name, key]) => operation.path.replace('{cityName}', () => name).replace(/\{\w+\}/g, () => key));
}

function parameterArbitrary(parameter: ParameterObject): fc.Arbitrary<string> {
  const fit = fitting(parameter.schema, schemas).map((value) => escapes(Array.isArray(value) ? value.join(',') : String(value)));
  return fc.oneof({ weight: 3, arbitrary: fit }, { weight: 2, arbitrary: inTarget });
}

function queryArbitrary(operation: DocumentedOperation): fc.Arbitrary<string> {
  const known = (operation.definition.parameters ?? []).filter((p) => p.in === 'query');
  const pair = (p: ParameterObject): fc.Arbitrary<string> => parameterArbitrary(p).map((value) => `${p.name}=${value}`);
  const stray = fc.tuple(inTarget, inTarget).map(([name, value]) => `${name}=${value}`);
  const some = known.length === 0 ? fc.constant<string[]>([]) : fc.array(fc.oneof(...known.map(pair)), { maxLength: 3 });
  const more = fc.oneof({ weight: 9, arbitrary: fc.constant<string[]>([]) }, { weight: 1, arbitrary: fc.array(stray, { maxLength: 2 }) });
  return fc.tuple(some, more).map(([a, b]) => bounded([...a, ...b]).join('&'));
}

/** Nobody waits here: a blocking read and a fresh probe get an end of their own. */
function bounded(pairs: readonly string[]): string[] {
  const quick = pairs.filter((pair) => !pair.startsWith('fresh=') && !pair.startsWith('wait='));
  return quick.some((pair) => pair.startsWith('index=')) ? [...quick, 'wait=1ms'] : pairs.filter((pair) => !pair.startsWith('fresh='));
}

/** Made once: fast-check takes long to make them. */
const odd = fc.oneof(
  fc.constantFrom(
    '',
    '{',
    '[',
    'null',
    '""',
    '0',
    '{}{}',
    '\ufeff{}',
    '{"a":1,"a":2}',
    '{"dir":"a","dir":"../b"}',
    '{"a":1e999}',
    'NaN',
    `{"a":"${'x'.repeat(1_100_000)}"}`,
  ),
  fc.constantFrom(1_000, 100_000).map((n) => '['.repeat(n)),
  fc.constantFrom(1_000, 20_000).map((n) => `{"payload":${'{"a":'.repeat(n)}1${'}'.repeat(n)}}`),
  anyText(40),
);

function bodyArbitrary(operation: DocumentedOperation): fc.Arbitrary<string | undefined> {
  const schema = operation.definition.requestBody?.content['application/json']?.schema as Record<string, unknown> | undefined;
  if (schema === undefined) return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd });
  const json = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string> => value.map((v) => JSON.stringify(v) ?? '');
  return fc.oneof(
    { weight: 3, arbitrary: json(fitting(schema, schemas)) },
    { weight: 6, arbitrary: json(broken(schema, schemas)) },
    { weight: 2, arbitrary: odd },
  );
}

const rare = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
/** What Node lets into a header. */
const headerText = fc.oneof(
  fc.constantFrom(...HOSTILE.filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text) && text.length < 9_000)),
  fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,60}$/),
);

function headersArbitrary(ofStream: boolean): fc.Arbitrary<Record<string, string | undefined>> {
  const type = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-16',
    'application/JSON;x',
    'text/plain',
    'multipart/form-data',
    'x',
    'application/json, text/html',
    '/',
    '',
  );
  return fc
    .record({
      'Content-Type': rare(type),
      'Content-Encoding': rare(fc.constantFrom('gzip', 'br', 'x')),
      Accept: rare(fc.oneof(fc.constantFrom('text/html', 'application/xml', '*/*;q=0', ''), headerText)),
      'Idempotency-Key': rare(fc.oneof(fc.constantFrom('k1', 'k2'), headerText)),
      'X-SVC-Request': rare(headerText),
      'X-SVC-Request-Id': rare(headerText),
      'Last-Event-ID': ofStream ? fc.oneof(fc.constant(undefined), headerText) : rare(headerText),
      Origin: rare(headerText),
      Host: rare(headerText),
      Authorization: rare(headerText),
      Range: rare(fc.constantFrom('bytes=0-1', 'bytes=-1,-1')),
      Expect: rare(fc.constantFrom('100-continue', 'a-miracle')),
      'X-Forwarded-For': rare(headerText),
      'X-HTTP-Method-Override': rare(fc.constantFrom('DELETE', 'POST')),
    })
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
}

const HEADERS = { stream: headersArbitrary(true), other: headersArbitrary(false) };

function shots(operation: DocumentedOperation): fc.Arbitrary<Shot> {
  return fc
    .tuple(
      pathArbitrary(operation),
      queryArbitrary(operation),
      operation.method === 'GET' ? fc.constant(undefined) : bodyArbitrary(operation),
      operation.path.endsWith('/stream') ? HEADERS.stream : HEADERS.other,
    )
    .map(([path, query, body, headers]) => ({ target: query === '' ? path : `${path}?${query}`, body, headers }));
}

async function expectWell(): Promise<void> {
  expect((await client.get('/ready')).status).toBe(200);
  expect((await client.get('/v0/city/alpha')).status).toBe(200);
}

/** Streams have no end: the head is looked at and the connection is closed. */
function headOf(operation: DocumentedOperation, shot: Shot): Promise<number> {
  const { hostname, port } = new URL(stack.urls[0]!);
  return new Promise((resolve, reject) => {
    const req = request({
      hostname,
      port,
      method: operation.method,
      path: shot.target,
      headers: shot.headers as Record<string, string>,
      agent: false,
    });
    req.setTimeout(60_000, () => req.destroy(new Error('no answer within a minute')));
    req.on('error', reject);
    req.on('response', (res) => {
      const status = res.statusCode ?? 0;
      const chunks: Buffer[] = [];
      const finish = (text: string | undefined): void => {
        try {
          checkAnswer(stack.urls[0]!, {
            method: 'GET',
            target: shot.target,
            status,
            headers: new Headers(res.headers as Record<string, string>),
            text,
          });
          resolve(status);
        } catch (error) {
          reject(error as Error);
        }
      };
      if (status === 200) {
        finish(undefined);
        res.destroy();
        return;
      }
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => finish(Buffer.concat(chunks).toString()));
    });
    req.end();
  });
}

describe(`the document's operations under fire (seed ${SEED}, ${RUNS} requests each)`, () => {
  it.each(operations.map((o): [string, DocumentedOperation] => [`${o.method} ${o.path}`, o]))('%s', async (_name, operation) => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(shots(operation), async (shot) => {
        const status = operation.path.endsWith('/stream')
          ? await headOf(operation, shot)
          : (
              await client.send(operation.method, shot.target, shot.body, {
                'Content-Type': shot.body === undefined ? undefined : 'application/json',
                ...shot.headers,
              })
            ).status;
        statuses.add(status);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: RUNS, seed: SEED, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
    );
    await expectWell();
    expect(statuses.size).toBeGreaterThan(1);
  });

  it('any path and method', async () => {
    const segment = fc.oneof(
      fc.constantFrom('v0', 'city', 'alpha', 'events', 'stream', 'cities', 'docs', 'openapi.json', 'svc', '..', '.', '', '%2f', '%2e%2e'),
      inTarget,
    );
    const method = fc.constantFrom(
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'QUERY',
      'SEARCH',
      'PURGE',
    );
    await fc.assert(
      fc.asyncProperty(method, fc.array(segment, { maxLength: 6 }), async (verb, segments) => {
        const path = `/${segments.join('/')}`;
        if (/\/stream\/?$/.test(path)) return;
        const reply = await client.send(verb, path);
        expect(reply.status).toBeLessThan(500);
      }),
      { numRuns: RUNS * 5, seed: SEED },
    );
    await expectWell();
  });

  it('bytes that are hardly HTTP', async () => {
    const heads = [
      'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n',
      'GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n',
      'POST /v0/city HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n',
      'POST /v0/city HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n',
      'POST /v0/city HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nContent-Length: -1\r\n',
      'POST /v0/city HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n',
      'GET /health HTTP/3.0\r\nHost: localhost\r\n',
      'GET  /health HTTP/1.1\r\nHost: localhost\r\n',
      'GET /health\r\n',
      'get /health HTTP/1.1\r\nHost: localhost\r\n',
      'GET /\u0000 HTTP/1.1\r\nHost: localhost\r\n',
      'GET /v0/city/\u00ff\u00fe HTTP/1.1\r\nHost: localhost\r\n',
      'GET http://localhost HTTP/1.1\r\nHost: localhost\r\n',
      'GET localhost HTTP/1.1\r\nHost: localhost\r\n',
      'GET * HTTP/1.1\r\nHost: localhost\r\n',
      'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n',
      'CONNECT evil.com:80 HTTP/1.1\r\nHost: localhost\r\n',
      'GET /health HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n',
      'GET /health HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n',
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(1_200_000)}\r\n`,
      `GET /v0/events?${'a=1&'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n`,
      `GET /v0/events?cities=${'a,'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n`,
      '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc',
      '\r\n\r\n\r\n',
      '',
    ];
    for (const head of heads) {
      const reply = await sendRaw(stack.urls[1]!, Buffer.from(`${head}Connection: close\r\n\r\n`, 'latin1')).catch(
        (error: NodeJS.ErrnoException) => {
          // Whoever is refused while still sending may find the connection reset.
          if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return undefined;
          throw error;
        },
      );
      expect({ head: head.slice(0, 80), status: (reply?.status ?? 0) < 500 }).toEqual({ head: head.slice(0, 80), status: true });
    }
    await expectWell();
  });
});
