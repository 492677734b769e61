import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import '../../src/contract/events/all.js';
import { knownEvents } from '../../src/contract/events/define.js';
import { startStack, type Stack } from '../support/app.js';
import { contract, Contract, documentFile, type Answer, CLAIMS } from '../support/contract.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { DEEP } from '../support/depth.js';
import { api, outcome, type Api, type Reply } from '../support/http.js';
import { fitting } from '../support/schema-arbitrary.js';
import { openStream, type Frame, type OpenStream } from '../support/sse.js';
import { makeWork, workEverything, workPath, type WorkExamples } from '../support/work-examples.js';

/**
 * The document and the service say the same. Every answer and frame of every e2e suite is checked by the clients of
 * test/support; here is the flow that touches each operation and each event kind once, and the proof that the checker
 * finds what it is for.
 */
const RESERVED = /^(request|supervisor|city|controller|events|session\.interaction)\./;
const KINDS = [...knownEvents().keys()].filter((type) => !RESERVED.test(type)).sort();
const root = fileURLToPath(new URL('../../', import.meta.url));

const AGENT_STREAMS = ['stream-agent-output', 'stream-agent-output-qualified', 'stream-agents-output'];

/** Operations whose success has several statuses. */
const SUCCESSES: Readonly<Record<string, number>> = {
  'broadcast-mail': 2,
  'sling-batch': 2,
  'cancel-sling-batch': 2,
  'stream-session': 2,
  'create-rig': 3,
  'create-molecule': 2,
  'post-v0-city-by-city-name-runs-by-run-id-cancel': 2,
};

let stack: Stack;
let a: Api;
let b: Api;
let city: OpenStream;
let feed: OpenStream;

beforeAll(async () => {
  // Files that ran before in this process have seen other operations: this one shows that its flow meets each.
  contract().seen.clear();
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  feed = await openStream(`${stack.urls[1]}/v0/events/stream`);
  await ended(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'create');
  city = await openStream(`${stack.urls[1]}/v0/city/alpha/events/stream?after_seq=0`);
});
afterAll(async () => {
  await Promise.all([city.close(), feed.close()]);
  await stack.stop();
});

async function ended(accepted: Reply, step: string): Promise<void> {
  expect(accepted.status).toBe(202);
  const end = await feed.until((f) => f.data?.payload?.request_id === accepted.body.request_id);
  expect(end.data.type).toBe(`request.result.city.${step}`);
}

describe('the document', () => {
  it('is served by every replica as it is committed', async () => {
    const committed = JSON.parse(await readFile(documentFile, 'utf8')) as object;
    for (const client of [a, b]) {
      const reply = await client.get('/openapi.json');
      expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
      // A megabyte: what differs is told by the slow comparison.
      if (!isDeepStrictEqual(reply.body, committed)) expect(reply.body).toEqual(committed);
    }
  });

  // Whether it is valid, `npm run openapi:lint` says, which asks for all of that and more.
  it('is of OpenAPI 3.1', () => {
    expect(contract().document.openapi).toMatch(/^3\.1\.\d$/);
  });

  it('holds valid JSON Schemas, and every reference leads somewhere', () => {
    const { document } = contract();
    const ajv = new Ajv2020({ strict: false });
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect({ name, valid: ajv.validateSchema(schema) }).toEqual({ name, valid: true });
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(schemas|headers|responses)\/([^"]+)"/g)];
    for (const [, kind, name] of references) expect(document.components[kind as 'schemas']).toHaveProperty([name!]);
  });

  it('says for every operation what it answers and how it refuses', () => {
    for (const { id, method, definition } of contract().operations) {
      const statuses = Object.keys(definition.responses);
      const isPublic = definition.security?.length === 0;
      expect({ id, success: statuses.filter((s) => s.startsWith('2')).length }).toEqual({ id, success: SUCCESSES[id] ?? 1 });
      const wanted = [
        '422',
        '400',
        '500',
        'default',
        ...(isPublic ? [] : ['401', '429', '503']),
        ...(method === 'GET' ? [] : ['403', '413', '415']),
        ...(CLAIMS.has(id) ? ['403'] : []),
      ];
      expect(statuses).toEqual(expect.arrayContaining(wanted));
      for (const status of statuses.filter((s) => !/^[23]/.test(s))) {
        expect(Object.keys(definition.responses[status]!.content ?? {})).toEqual(['application/problem+json']);
      }
      const schemes = (definition.security ?? []) as readonly Record<string, unknown>[];
      expect({ id, change: schemes.filter((scheme) => 'change' in scheme).length }).toEqual({
        id,
        change: (method !== 'GET' || CLAIMS.has(id)) && !isPublic ? 2 : 0,
      });
    }
  });

  it('has a variant and a mapping for every known kind in both unions', () => {
    for (const union of ['TypedEventStreamEnvelope', 'TypedTaggedEventStreamEnvelope']) {
      const { mapping } = contract().document.components.schemas[`${union}Known`]!.discriminator!;
      expect(Object.keys(mapping).sort()).toEqual([...knownEvents().keys()].sort());
    }
  });

  it('has unions whose member says which one variant a value is', () => {
    const { schemas } = contract().document.components;
    const unions = Object.values(schemas).filter(({ discriminator }) => discriminator !== undefined);
    expect(unions).toHaveLength(JSON.stringify(schemas).match(/"discriminator":\{/g)!.length);
    for (const { discriminator, oneOf } of unions) {
      const { propertyName, mapping } = discriminator!;
      const named = Object.groupBy(Object.keys(mapping), (value) => mapping[value]!);
      expect(Object.keys(named).sort()).toEqual(oneOf!.map(({ $ref }) => $ref).sort());
      for (const [reference, values] of Object.entries(named)) {
        const variant = schemas[reference.split('/').pop()!]!;
        expect(variant).toMatchObject({ required: expect.arrayContaining([propertyName]) });
        const { const: one, enum: some = [one] } = variant.properties![propertyName]!;
        expect(some).toEqual(values);
      }
    }
  });

  it('has an example for every body, which fits it', () => {
    const given = contract().operations.filter(({ definition }) => definition.requestBody !== undefined);
    for (const { id, definition } of given) {
      // A file is a text of its own, which other tests look at.
      if (definition.requestBody!.content['application/octet-stream'] !== undefined) continue;
      const [{ schema, example }] = Object.values(definition.requestBody!.content) as unknown as [
        { schema: { $ref: string }; example: object },
      ];
      const fault = contract().componentFault(schema.$ref.split('/').pop()!, example);
      expect({ id, example: typeof example, fault }).toEqual({ id, example: 'object', fault: undefined });
      // Nothing, or nothing in a list, changes nothing; the name of a member as its value helps nobody.
      const empty = Object.entries(example).filter(
        ([name, value]) => value === name || (typeof value === 'object' && Object.keys(value as object).length === 0),
      );
      expect({ id, members: Object.keys(example).length > 0, empty }).toEqual({ id, members: true, empty: [] });
    }
  });

  it('keeps custom kinds out of what the discriminator decides', () => {
    for (const union of ['TypedEventStreamEnvelope', 'TypedTaggedEventStreamEnvelope']) {
      const schemas = contract().document.components.schemas as Record<string, { oneOf?: { $ref: string }[]; discriminator?: object }>;
      const reference = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });
      expect(schemas[union]).toMatchObject({ anyOf: [reference(`${union}Known`), reference(`${union}Custom`)] });
      expect(schemas[union]).not.toHaveProperty('discriminator');
      expect(schemas[`${union}Known`]!.oneOf).toHaveLength(knownEvents().size);
      expect(schemas[`${union}Known`]!.oneOf).not.toContainEqual(reference(`${union}Custom`));
    }
  });

  it('stands beside the line schema, whose references it resolves', async () => {
    const served = (await a.get('/schemas/events.json')).body as object;
    const committed = await readFile(`${root}openapi/events.schema.json`, 'utf8');
    expect(JSON.parse(JSON.stringify(served).replaceAll('../openapi.json', 'openapi.json'))).toEqual(JSON.parse(committed));
    for (const [, name] of committed.matchAll(/openapi\.json#\/components\/schemas\/(\w+)/g)) {
      expect(contract().document.components.schemas).toHaveProperty([name!]);
    }
  });
});

describe('the service', () => {
  it.each(KINDS)('records, lists and streams %s as the document describes it', async (type) => {
    const { schemas } = contract().document.components;
    const mapping = (schemas.TypedEventStreamEnvelopeKnown as { discriminator: { mapping: Record<string, string> } }).discriminator.mapping;
    const variant = schemas[mapping[type]!.split('/').pop()!] as { properties: { payload: object } };
    const payloads = fc.sample(fitting(variant.properties.payload as never, schemas), { numRuns: DEEP ? 20 : 2, seed: 42 });
    for (const payload of payloads) {
      const reply = await a.post('/v0/city/alpha/events', { type, actor: 'contract', subject: 'it', message: 'x', payload });
      expect({ payload, status: reply.status, body: reply.body }).toMatchObject({
        payload,
        status: 201,
        body: { seq: expect.any(Number) },
      });
      const { seq } = reply.body as { seq: number };
      const frame = await city.until((f) => f.data?.seq === seq);
      const tagged = await feed.until((f) => f.data?.city === 'alpha' && f.data?.seq === seq);
      const listed = (await b.get(`/v0/city/alpha/events?after_seq=${seq - 1}&limit=1`)).body.items[0];
      const everywhere = (await b.get(`/v0/events?type=${type}&limit=1`)).body.items[0];
      same(type, frame, listed, 'TypedEventStreamEnvelope', 'EventStreamEnvelope');
      same(type, tagged, everywhere, 'TypedTaggedEventStreamEnvelope', 'TaggedEventStreamEnvelope');
    }
  });

  it.each([{}, { a: 1 }, { deep: [{ x: null }] }, { request_id: 'mine' }])('carries custom kinds with the payload %j', async (payload) => {
    const reply = await b.post('/v0/city/alpha/events', { type: 'shop.sold', actor: 'contract', payload });
    const frame = await city.until((f) => f.data?.seq === reply.body.seq);
    expect(frame.data.payload).toEqual(payload);
    for (const name of ['TypedEventStreamEnvelopeCustom', 'TypedEventStreamEnvelope'])
      expect(contract().componentFault(name, frame.data)).toBeUndefined();
    expect(contract().componentFault('TypedEventStreamEnvelopeKnown', frame.data)).toBeDefined();
  });

  it('answers every operation as documented', async () => {
    const audit = await openStream(`${stack.urls[0]}/v0/audit/stream`);
    await readEverything();
    expect(await workEverything(b, 'alpha', stack.urls[1]!)).toEqual([]);
    expect((await a.post('/v0/city/alpha/events/rotate')).body.rotated).toBe(true);
    expect((await b.post('/v0/city/alpha/events/rotate?wait=true')).status).toBe(200);
    for (const suspended of [true, false]) expect((await b.patch('/v0/city/alpha', { suspended })).status).toBe(200);
    const created = await a.post('/v0/keys', { name: 'contract', cities: ['alpha'], scope: 'read' });
    expect((await b.get('/v0/keys')).body.total).toBe(1);
    expect((await a.post(`/v0/keys/${created.body.id}/rotate`, {})).status).toBe(200);
    expect((await b.delete(`/v0/keys/${created.body.id}`)).status).toBe(200);
    for (const step of ['stop', 'start', 'unregister']) await ended(await b.post(`/v0/city/alpha/${step}`), step);
    await ended(await b.post('/v0/cities/register', { dir: 'alpha' }), 'register');
    await audit.until((f) => f.event === 'audit');
    await audit.close();
    await feed.until((f) => f.event === 'heartbeat');
    await city.until((f) => f.event === 'heartbeat');
    const unseen = contract().operations.flatMap(({ id, definition }) => {
      const good = Object.keys(definition.responses).filter((status) => status.startsWith('2'));
      return good.some((status) => contract().seen.has(`${id} ${status}`)) ? [] : [id];
    });
    const frames = [
      'stream-events event',
      'stream-events heartbeat',
      'stream-supervisor-events tagged_event',
      'stream-supervisor-events heartbeat',
      'stream-audit audit',
      'stream-audit heartbeat',
      'stream-service-logs heartbeat',
      ...['heartbeat', 'publication'].map((event) => `stream-extmsg-publications ${event}`),
      ...['activity', 'heartbeat', 'message', 'structured', 'turn'].map((event) => `stream-session ${event}`),
      ...AGENT_STREAMS.flatMap((id) => [`${id} heartbeat`, `${id} turn`]),
    ];
    expect([...unseen, ...frames.filter((what) => !contract().seen.has(what))]).toEqual([]);
  });

  async function readEverything(): Promise<void> {
    const examples = await makeWork(a, 'alpha', stack.databaseUrl);
    await makeAgents(a, 'alpha', stack.citiesRoot);
    const reads = contract().operations.filter(({ method, path }) => method === 'GET' && !path.endsWith('/stream'));
    // A few at a time: whoever asks for everything at once waits for a place, and is told so (503) where that takes too long.
    const lane = async (): Promise<void> => {
      for (let next = reads.pop(); next !== undefined; next = reads.pop()) {
        const target = workPath(next.path, 'alpha', examples);
        const replies = [await a.get(target), await b.send('HEAD', target), await b.send('OPTIONS', target)];
        expect([target, ...replies.map(outcome)]).toEqual([target, 200, 200, 204]);
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    await followEverything(examples);
    for (const url of stack.workerUrls)
      for (const path of ['/health', '/ready', '/metrics']) expect((await api(url).get(path)).status).toBe(200);
    for (const query of ['limit=2', 'type=mail.sent&limit=2', 'since=1h', 'payload_match=rig%3Dx', 'limit=2&actor=contract']) {
      expect((await a.get(`/v0/city/alpha/events?${query}`)).status).toBe(200);
      expect((await a.get(`/v0/events?${query}`)).status).toBe(200);
    }
    expect((await a.get('/v0/city/alpha/status?lite=true&index=0&wait=1ms')).status).toBe(200);
    expect((await a.get('/v0/readiness?items=claude,loopback')).status).toBe(200);
  }

  /** What sessions and agents say: a frame of each kind that comes without anything happening. */
  async function followEverything(examples: WorkExamples): Promise<void> {
    const paths = contract().operations.filter(({ id }) => ['stream-session', 'stream-service-logs', ...AGENT_STREAMS].includes(id));
    const targets = paths.flatMap(({ id, path }) => {
      const target = workPath(path, 'alpha', examples);
      return id === 'stream-session' ? ['conversation', 'raw', 'structured'].map((format) => `${target}?format=${format}`) : [target];
    });
    await Promise.all(
      targets.map(async (target) => {
        const stream = await openStream(`${stack.urls[1]}${target}`);
        expect({ target, status: stream.response.status }).toEqual({ target, status: 200 });
        await stream.until(({ event }) => event === 'heartbeat');
        await stream.close();
      }),
    );
  }

  function same(type: string, frame: Frame, listed: unknown, typed: string, loose: string): void {
    expect(listed).toEqual(frame.data);
    expect(frame.data.type).toBe(type);
    const schemas = contract().document.components.schemas as Record<string, { discriminator?: { mapping: Record<string, string> } }>;
    const variant = schemas[`${typed}Known`]!.discriminator!.mapping[type]!.split('/').pop()!;
    for (const name of [variant, typed, loose])
      expect({ name, fault: contract().componentFault(name, frame.data) }).toEqual({ name, fault: undefined });
  }
});

describe('the checker', () => {
  const checker = new Contract(contract().document);
  const headers = (more: Record<string, string> = {}): Headers =>
    new Headers({ 'x-svc-request-id': '0123456789abcdef', 'content-type': 'application/json; charset=utf-8', ...more });
  const good: Answer = { method: 'GET', target: '/v0/cities', status: 200, headers: headers(), text: '{"items":[],"total":0}' };
  const problem = (more: object): string =>
    JSON.stringify({
      type: 'urn:supervisor:error:city-not-found',
      code: 'city-not-found',
      title: 'City Not Found',
      status: 404,
      detail: 'not_found: x',
      instance: 'urn:supervisor:request:0123456789abcdef',
      ...more,
    });
  const bad: Answer = {
    method: 'GET',
    target: '/v0/city/x',
    status: 404,
    headers: headers({ 'content-type': 'application/problem+json' }),
    text: problem({}),
  };
  const problemHeaders = (more: Record<string, string>): Headers => headers({ 'content-type': 'application/problem+json', ...more });

  it('accepts what is right', () => {
    expect(checker.faults(good)).toEqual([]);
    expect(checker.faults(bad)).toEqual([]);
  });

  it.each<[string, Answer]>([
    ['no request id', { ...good, headers: new Headers({ 'content-type': 'application/json' }) }],
    ['an undocumented status', { ...good, status: 203 }],
    ['an undocumented content type', { ...good, headers: headers({ 'content-type': 'text/html' }) }],
    ['a missing member', { ...good, text: '{"items":[]}' }],
    ['an unknown member', { ...good, text: '{"items":[],"total":0,"more":1}' }],
    ['a member of another type', { ...good, text: '{"items":[],"total":"0"}' }],
    ['a body that is not JSON', { ...good, text: '{' }],
    ['a missing header', { ...good, target: '/v0/city/x/events' }],
    ['an undocumented operation', { ...good, target: '/v0/secret' }],
    ['a refusal that is no problem', { ...bad, text: '{"message":"no"}' }],
    ['a refusal as plain JSON', { ...bad, headers: headers() }],
    [
      'a code that is not in the catalogue',
      { ...bad, text: problem({ code: 'gone', type: 'urn:supervisor:error:gone', detail: 'gone: x' }) },
    ],
    ['a detail without its prefix', { ...bad, text: problem({ detail: 'x' }) }],
    ['another status in the body', { ...bad, text: problem({ status: 400 }) }],
    ['another type', { ...bad, text: problem({ type: 'about:blank' }) }],
    ['no instance', { ...bad, text: problem({ instance: undefined }) }],
    ['an instance that is no URI', { ...bad, text: problem({ instance: '/x' }) }],
    ['an unknown member of a problem', { ...bad, text: problem({ stack: 'x' }) }],
    ['SQL in a detail', { ...bad, text: problem({ detail: 'not_found: relation "cities" does not exist' }) }],
    [
      'an undocumented refusal',
      {
        ...bad,
        status: 410,
        text: problem({
          status: 410,
          code: 'cursor-expired',
          title: 'Cursor Expired',
          type: 'urn:supervisor:error:cursor-expired',
          detail: 'cursor_expired: x',
        }),
      },
    ],
    [
      'a 503 without Retry-After',
      {
        ...bad,
        status: 503,
        text: problem({
          status: 503,
          code: 'service-unavailable',
          title: 'Service Unavailable',
          type: 'urn:supervisor:error:service-unavailable',
          detail: 'unavailable: x',
        }),
      },
    ],
    [
      'a 401 without WWW-Authenticate',
      {
        ...bad,
        status: 401,
        headers: problemHeaders({}),
        text: problem({
          status: 401,
          code: 'unauthorized',
          title: 'Unauthorized',
          type: 'urn:supervisor:error:unauthorized',
          detail: 'unauthorized: x',
        }),
      },
    ],
  ])('finds %s', (_what, answer) => {
    expect(checker.faults(answer)).not.toEqual([]);
  });

  const event = { seq: 1, ts: '2026-11-21T09:00:00Z', type: 'order.fired', actor: 'x', payload: {} };
  const frame = { event: 'event', id: '1', data: event };
  const path = '/v0/city/x/events/stream';

  it.each<[string, object]>([
    ['no id', { ...frame, id: undefined }],
    ['an id that is no position', { ...frame, id: 'a:1' }],
    ['another event', { ...frame, event: 'message' }],
    ['no event', { ...frame, event: undefined }],
    ['a payload of another kind', { ...frame, data: { ...event, payload: { more: 1 } } }],
    ['a time without an offset', { ...frame, data: { ...event, ts: '2026-11-21T09:00:00' } }],
    ['a city where none belongs', { ...frame, data: { ...event, city: 'x' } }],
    ['a custom kind without payload', { ...frame, data: { ...event, type: 'shop.sold', payload: undefined } }],
  ])('finds a frame with %s', (_what, broken) => {
    expect(checker.frameFaults(path, frame, true)).toEqual([]);
    expect(checker.frameFaults(path, JSON.parse(JSON.stringify(broken)) as never, true)).not.toEqual([]);
  });
});
