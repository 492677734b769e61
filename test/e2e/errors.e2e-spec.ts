import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';

/** Every refusal that the operations themselves make: its words, and that nothing is different after it. */
let stack: Stack;
let a: Api;
let b: Api;
let witness: Witness;
let root: string;

const INVALID = 'validation_failed: validation failed';
const NOT_RUNNING = 'not_found: city not found or not running: ';
const UNDER_WAY = 'conflict: city operation already in progress at ';

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  root = stack.citiesRoot;
  for (const dir of ['alpha', 'stopped', 'gone', 'worn'])
    expect((await a.post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await settled();
  for (const path of ['/v0/city/stopped/stop', '/v0/city/gone/unregister']) expect((await b.post(path)).status).toBe(202);
  await settled();
  await eventually(async () => (await a.get('/v0/cities')).body.total === 3);
  await mkdir(join(root, 'foreign'));
  await writeFile(join(root, 'foreign/city.toml'), '# not ours\n');
  await symlink('/tmp', join(root, 'outside'));
  await writeFile(join(root, 'plain-file'), '');
  // Retention has removed the beginning of this city's log.
  for (let i = 0; i < 5; i++) await a.post('/v0/city/worn/events', { type: 'note.taken', actor: 'x' });
  await adminAt(stack.databaseUrl, "update event_streams set floor = 4 where name = 'worn'");
  await adminAt(stack.databaseUrl, "delete from events where stream_id = (select id from event_streams where name = 'worn') and seq <= 4");
  witness = await watchState(stack);
}, 60_000);
afterEach(() => stack.failpoints.forEach((f) => f.disarm()));
afterAll(async () => {
  await witness.close();
  await stack.stop();
});

async function settled(): Promise<void> {
  await eventually(async () => {
    const [row] = await adminAt<{ n: number }>(
      stack.databaseUrl,
      "select count(*)::int as n from operations where state not in ('succeeded', 'failed')",
    );
    return row!.n === 0;
  }, 20_000);
}

type Row = [method: string, path: string, body: unknown, status: number, detail: string | RegExp, fields?: string[]];

const refuses = ([method, path, body, status, detail, fields]: Row): void => {
  const shown = JSON.stringify(body) ?? '';
  it(`${method} ${path} ${shown.length > 90 ? `${shown.slice(0, 90)}…` : shown} -> ${status} ${String(detail)}`, async () => {
    const reply = await witness.unchangedBy(() => a.send(method, path, body));
    expectRefusal(reply, path, { status, detail, ...(fields === undefined ? {} : { fields }) });
  });
};

describe('POST /v0/city', () => {
  const create = (body: unknown, status: number, detail: string | RegExp, fields?: string[]): Row => [
    'POST',
    '/v0/city',
    body,
    status,
    detail,
    fields,
  ];
  const dir = (value: unknown): object => ({ dir: value, provider: 'loopback' });
  const rows: Row[] = [
    create('{"dir":', 400, 'validation_failed: the request body is not valid JSON'),
    create(undefined, 422, INVALID, ['body']),
    create([], 422, INVALID, ['body']),
    create('null', 422, INVALID, ['body']),
    create({}, 422, INVALID, ['body.dir']),
    create({ dir: '', provider: '' }, 422, INVALID, ['body.dir', 'body.provider']),
    create({ dir: 7, provider: true, start_command: [] }, 422, INVALID, ['body.dir', 'body.provider', 'body.start_command']),
    create({ dir: null, provider: 'loopback' }, 422, INVALID, ['body.dir']),
    create({ ...dir('x'), force: true }, 422, INVALID, ['body.force']),
    create({ ...dir('x'), bootstrap_profile: 'huge' }, 422, INVALID, ['body.bootstrap_profile']),
    create({ dir: 'x' }, 422, 'validation_failed: invalid provider: provider or start_command required'),
    create({ dir: 'x', start_command: ' ' }, 422, 'validation_failed: invalid provider: provider or start_command required'),
    create(
      { dir: 'x', provider: 'claude', start_command: 'x' },
      422,
      'validation_failed: invalid provider: provider and start_command are mutually exclusive',
    ),
    create({ dir: 'x', provider: 'nobody' }, 422, 'validation_failed: invalid provider: unknown provider "nobody"'),
    create({ dir: 'x', provider: 'Loopback' }, 422, 'validation_failed: invalid provider: unknown provider "Loopback"'),
    create(dir('..'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('a/../../b'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('/etc/city'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('outside/city'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('plain-file'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('plain-file/city'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('alpha/inner'), 422, 'validation_failed: invalid city directory: …'),
    create(dir('x'.repeat(300)), 422, 'validation_failed: invalid city directory: …'),
    create(dir(' '), 422, 'validation_failed: invalid city directory: …'),
    create(dir('a\u0000b'), 422, INVALID, ['body.dir']),
    create('{"dir":"\\ud800","provider":"loopback"}', 422, INVALID, ['body.dir']),
    create(dir('-x'), 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('x'), name: 'a,b' }, 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('x'), name: 'a:1' }, 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('x'), name: '' }, 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('x'), name: '__supervisor__' }, 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('x'), name: 'n'.repeat(64) }, 422, 'validation_failed: invalid city name: …'),
    create({ ...dir('elsewhere'), name: 'alpha' }, 409, 'conflict: city name already taken: alpha'),
    create({ ...dir('x'), start_command: 'y'.repeat(1024 * 1024) }, 413, 'payload_too_large: …'),
  ];
  rows.forEach(refuses);

  it.each(['alpha', 'stopped', 'gone', 'foreign'])('409 for the directory %s, which holds a city', async (name) => {
    const reply = await witness.unchangedBy(() => b.post('/v0/city', dir(name)));
    expectRefusal(reply, '/v0/city', { status: 409, detail: `conflict: city already initialized at ${join(root, name)}` });
    const absolute = await witness.unchangedBy(() => b.post('/v0/city', dir(join(root, name))));
    expectRefusal(absolute, '/v0/city', { status: 409, detail: `conflict: city already initialized at ${join(root, name)}` });
  });

  it('409 while another create is at work there, 409 in_flight for its own key', async () => {
    const release = hold('scaffold.after_write');
    const first = a.post('/v0/city', dir('busy'), { 'Idempotency-Key': 'busy' });
    await eventually(async () => (await adminAt(stack.databaseUrl, 'select 1 from city_reservations')).length === 1);
    const again = await witness.unchangedBy(() => b.post('/v0/city', dir('busy')));
    expectRefusal(again, '/v0/city', { status: 409, detail: `conflict: city initialization already in progress at ${join(root, 'busy')}` });
    const named = await witness.unchangedBy(() => b.post('/v0/city', { ...dir('other'), name: 'busy' }));
    expectRefusal(named, '/v0/city', { status: 409, detail: 'conflict: city name already taken: busy' });
    const keyed = await witness.unchangedBy(() => b.post('/v0/city', dir('busy2'), { 'Idempotency-Key': 'busy' }));
    expect([409, 422]).toContain(keyed.status);
    release();
    expect((await first).status).toBe(202);
    await settled();
  });

  it('422 idempotency_mismatch for another body under the same key, the stored answer for the same one', async () => {
    const key = { 'Idempotency-Key': 'once' };
    const first = await a.post('/v0/city', dir('keyed'), key);
    await settled();
    const other = await witness.unchangedBy(() => b.post('/v0/city', dir('keyed2'), key));
    expectRefusal(other, '/v0/city', { status: 422, detail: 'idempotency_mismatch: Idempotency-Key reused with different request body' });
    expect((await witness.unchangedBy(() => b.post('/v0/city', dir('keyed'), key))).text).toBe(first.text);
  });

  it.each(['scaffold.before_write', 'scaffold.after_first_file', 'scaffold.after_write', 'city.before_commit', 'tx.before_commit'])(
    '500 for an unexpected failure at %s, without a trace',
    async (name) => {
      stack.failpoints[0]!.arm(name, () => {
        throw new TypeError('select secret from inside');
      });
      const reply = await witness.unchangedBy(() => a.post('/v0/city', dir('broken'), { 'Idempotency-Key': 'broken' }));
      stack.failpoints[0]!.disarm();
      expectRefusal(reply, '/v0/city', { status: 500, detail: 'internal: internal server error' });
      expect((await a.get('/v0/cities')).text).not.toContain('broken');
      const events = await a.get('/v0/events?type=city.created&subject=broken');
      expect(events.body.total).toBe(0);
      expectRefusal(await a.post('/v0/city/broken/unregister'), '/v0/city/broken/unregister', {
        status: 404,
        detail: 'not_found: city not registered with supervisor: broken',
      });
    },
  );

  it('503 for a missing dependency and for a provider that is not ready', async () => {
    const without = await stack.add('api', { citiesRoot: join(root, 'plain-file') });
    const missing = await witness.unchangedBy(() => api(without.url).post('/v0/city', dir('x')));
    expectRefusal(missing, '/v0/city', { status: 503, detail: 'dependency_missing: …' });
    const strict = await stack.add('api', { providerCheck: 'enforce' });
    const published = await eventually(async () => {
      const { status, detail } = (await a.get('/v0/provider-readiness')).body.providers.claude as { status: string; detail?: string };
      return detail === 'no worker host has reported yet' ? undefined : status;
    }, 20_000);
    expect(published).not.toBe('configured');
    const refused = await witness.unchangedBy(() => api(strict.url).post('/v0/city', { dir: 'x', provider: 'claude' }));
    expectRefusal(refused, '/v0/city', { status: 503, detail: `provider_not_ready: claude: ${published}` });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('POST /v0/cities/register', () => {
  const register = (body: unknown, status: number, detail: string | RegExp, fields?: string[]): Row => [
    'POST',
    '/v0/cities/register',
    body,
    status,
    detail,
    fields,
  ];
  const rows: Row[] = [
    register({}, 422, INVALID, ['body.dir']),
    register({ dir: 'gone', provider: 'loopback' }, 422, INVALID, ['body.provider']),
    register({ dir: 'nowhere' }, 422, 'validation_failed: invalid city directory: …'),
    register({ dir: '../gone' }, 422, 'validation_failed: invalid city directory: …'),
    register({ dir: 'gone', name: 'a b' }, 422, 'validation_failed: invalid city name: …'),
    register({ dir: 'gone', name: 'alpha' }, 409, 'conflict: city name already taken: alpha'),
  ];
  rows.forEach(refuses);

  it('409 for a directory that is registered', async () => {
    const reply = await witness.unchangedBy(() => a.post('/v0/cities/register', { dir: 'alpha', name: 'second' }));
    expectRefusal(reply, '/v0/cities/register', { status: 409, detail: `conflict: city already initialized at ${join(root, 'alpha')}` });
  });
});

describe('stop, start and unregister', () => {
  const rows: Row[] = [
    ['POST', '/v0/city/absent/stop', undefined, 404, `${NOT_RUNNING}absent`],
    ['POST', '/v0/city/absent/start', undefined, 404, `${NOT_RUNNING}absent`],
    ['POST', '/v0/city/absent/unregister', undefined, 404, 'not_found: city not registered with supervisor: absent'],
    ['POST', '/v0/city/gone/unregister', undefined, 404, 'not_found: city not registered with supervisor: gone'],
    ['POST', '/v0/city/ALPHA/unregister', undefined, 404, 'not_found: city not registered with supervisor: ALPHA'],
    ['POST', '/v0/city/__supervisor__/unregister', undefined, 404, 'not_found: city not registered with supervisor: __supervisor__'],
    ['POST', '/v0/city/alpha/stop?force=1', undefined, 422, INVALID, ['query.force']],
  ];
  rows.forEach(refuses);

  it('409 while another operation of the city is pending', async () => {
    const release = hold('operation.after_claim');
    expect((await a.post('/v0/city/worn/stop')).status).toBe(202);
    for (const path of ['stop', 'start', 'unregister'].map((step) => `/v0/city/worn/${step}`)) {
      const reply = await b.post(path);
      expectRefusal(reply, path, { status: 409, detail: UNDER_WAY + join(root, 'worn') });
    }
    const create = await b.post('/v0/city', { dir: 'worn', provider: 'loopback' });
    expectRefusal(create, '/v0/city', { status: 409, detail: UNDER_WAY + join(root, 'worn') });
    release();
    await settled();
    expect((await a.post('/v0/city/worn/start')).status).toBe(202);
    await settled();
  });

  // Fails when an ending takes the operation's row before the city's, the other way round than requests do.
  it('409 without a deadlock while the pending operation ends', async () => {
    const release = hold('operation.before_finish');
    expect((await a.post('/v0/city/worn/stop')).status).toBe(202);
    const request = new pg.Client({ connectionString: stack.databaseUrl });
    await request.connect();
    await request.query("begin; select from cities where name = 'worn' for update");
    release();
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await eventually(async () => (await adminAt(stack.databaseUrl, waiting)).length > 0);
    await request.query("select from operations where target = 'worn' and state = 'running' for update nowait");
    await request.query('rollback');
    await request.end();
    await settled();
    expect((await a.post('/v0/city/worn/start')).status).toBe(202);
    await settled();
  });

  it('500 for a failed registry write, which leaves the city registered and says nothing in its log', async () => {
    stack.failpoints[0]!.arm('tx.before_commit', () => {
      throw new Error('insert into cities failed');
    });
    const reply = await witness.unchangedBy(() => a.post('/v0/city/alpha/unregister', undefined, { 'Idempotency-Key': 'u' }));
    expectRefusal(reply, '/v0/city/alpha/unregister', { status: 500, detail: 'internal: internal server error' });
  });
});

describe('a city that does not run', () => {
  const routes: [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { suspended: true }],
    ['GET', '/status'],
    ['GET', '/health'],
    ['GET', '/readiness'],
    ['GET', '/provider-readiness'],
    ['GET', '/events'],
    ['GET', '/events/stream'],
    ['POST', '/events', { type: 'a', actor: 'b' }],
    ['POST', '/events/rotate'],
  ];
  for (const name of ['stopped', 'absent', 'ALPHA', 'a,b:1', '__supervisor__', 'x'.repeat(200), "o'clock"]) {
    it(`404 on every typed route of ${name.slice(0, 20)}`, async () => {
      for (const [method, suffix, body] of routes) {
        const path = `/v0/city/${encodeURIComponent(name)}${suffix}`;
        const reply = await witness.unchangedBy(() => b.send(method, path, body));
        expectRefusal(reply, path, { status: 404, detail: NOT_RUNNING + name });
      }
    });
  }

  it('is found out after the request itself has been checked', async () => {
    const rows: Row[] = [
      ['GET', '/v0/city/absent/events?limit=-1', undefined, 422, INVALID, ['query.limit']],
      ['GET', '/v0/city/absent/status?lite=perhaps', undefined, 422, INVALID, ['query.lite']],
      ['POST', '/v0/city/absent/events', '{', 400, 'validation_failed: the request body is not valid JSON'],
      ['POST', '/v0/city/absent/events', {}, 422, INVALID, ['body.actor', 'body.type']],
      ['PATCH', '/v0/city/absent', '{', 400, 'validation_failed: the request body is not valid JSON'],
      ['PATCH', '/v0/city/absent', { suspended: 1 }, 422, INVALID, ['body.suspended']],
      ['GET', '/v0/city/absent/events/stream?from=1', undefined, 422, INVALID, ['query.from']],
    ];
    for (const [method, path, body, status, detail, fields] of rows) {
      expectRefusal(await a.send(method, path, body), path, { status, detail, ...(fields === undefined ? {} : { fields }) });
    }
  });
});

describe('reading and patching a running city', () => {
  const rows: Row[] = [
    ['PATCH', '/v0/city/alpha', {}, 400, 'invalid: no fields to update'],
    ['PATCH', '/v0/city/alpha', { suspended: null }, 422, INVALID, ['body.suspended']],
    ['PATCH', '/v0/city/alpha', { suspended: true, name: 'x' }, 422, INVALID, ['body.name']],
    ['GET', '/v0/cities?limit=1', undefined, 422, INVALID, ['query.limit']],
    ['GET', '/v0/city/alpha?full=1', undefined, 422, INVALID, ['query.full']],
    ['GET', '/v0/city/alpha/status?index=-1', undefined, 422, INVALID, ['query.index']],
    ['GET', '/v0/city/alpha/status?index=x&wait=soon', undefined, 422, INVALID, ['query.index', 'query.wait']],
    ['GET', '/v0/city/alpha/status?index=0&wait=-1s', undefined, 422, INVALID, ['query.wait']],
    ['GET', '/v0/readiness?items=claude,nobody', undefined, 400, 'invalid: unsupported items value "nobody"'],
    ['GET', '/v0/readiness?items=claude,,codex', undefined, 400, 'invalid: unsupported items value ""'],
    ['GET', '/v0/provider-readiness?providers=github_cli', undefined, 400, 'invalid: unsupported providers value "github_cli"'],
    ['GET', '/v0/city/alpha/readiness?items=x', undefined, 400, 'invalid: unsupported items value "x"'],
    ['GET', '/v0/city/alpha/provider-readiness?providers=x', undefined, 400, 'invalid: unsupported providers value "x"'],
    ['GET', '/v0/readiness?fresh=maybe', undefined, 422, INVALID, ['query.fresh']],
  ];
  rows.forEach(refuses);
});

describe('event lists and positions', () => {
  const list = '/v0/city/alpha/events';
  const malformed = ['x', '-1', '1.5', '01', '0x1', '1e3', '١', '99999999999999999999'];
  const rows: Row[] = [
    ...['limit=-1', 'limit=1001', 'limit=x', 'limit=1.5', 'index=-1'].map((query): Row => [
      'GET',
      `${list}?${query}`,
      undefined,
      422,
      INVALID,
      [`query.${query.split('=', 1)[0]}`],
    ]),
    ['GET', `${list}?index=0&wait=soon`, undefined, 422, INVALID, ['query.wait']],
    ['GET', `${list}?payload_match=x`, undefined, 422, INVALID, ['query.payload_match.0']],
    ['GET', `${list}?payload_match=%3Dx`, undefined, 422, INVALID, ['query.payload_match.0']],
    ['GET', `${list}?type=a&type=b`, undefined, 422, INVALID, ['query.type']],
    ['GET', `${list}?after=1`, undefined, 422, INVALID, ['query.after']],
    ['GET', `${list}?since=yesterday`, undefined, 400, 'invalid: invalid since duration: "yesterday"'],
    ['GET', `${list}?until=5`, undefined, 400, 'invalid: invalid until duration: "5"'],
    ['GET', '/v0/events?since=x', undefined, 400, 'invalid: invalid since duration: "x"'],
    ['GET', '/v0/events?limit=-1', undefined, 422, INVALID, ['query.limit']],
    ['GET', '/v0/events?after_seq=1', undefined, 422, INVALID, ['query.after_seq']],
    ...['x', 'v1:', 'v1:!!', 'v2:e30', `v1:${b64({})}`, `v1:${b64({ k: 'sq', s: 0 })}`, `v1:${b64({ k: 'cb', s: 1 })}`].flatMap(
      (cursor): Row[] =>
        [list, '/v0/events'].map((path) => [
          'GET',
          `${path}?cursor=${encodeURIComponent(cursor)}`,
          undefined,
          400,
          'invalid_cursor: cursor is not a page token of this list',
        ]),
    ),
    ...malformed.flatMap((value): Row[] =>
      [list, `${list}/stream`].map((path) => [
        'GET',
        `${path}?after_seq=${encodeURIComponent(value)}`,
        undefined,
        400,
        `invalid_cursor: after_seq is not a position: "${value}"`,
      ]),
    ),
    ...['alpha', ':1', 'alpha:', 'alpha:x', 'alpha:1,alpha:2', 'alpha:1,', 'a b:1', '~', '~zz', '0', '__supervisor__:-1'].flatMap(
      (value): Row[] =>
        ['/v0/events', '/v0/events/stream'].map((path) => [
          'GET',
          `${path}?after_cursor=${encodeURIComponent(value)}`,
          undefined,
          400,
          'invalid_cursor: …',
        ]),
    ),
    ['GET', `${list}?after_seq=1000000`, undefined, 400, 'invalid_cursor: after_seq is ahead of the log: …'],
    ['GET', `${list}/stream?after_seq=1000000`, undefined, 400, 'invalid_cursor: after_seq is ahead of the log: …'],
    ['GET', '/v0/events?after_cursor=alpha:1000000', undefined, 400, 'invalid_cursor: after_cursor is ahead of the log: …'],
    ['GET', '/v0/events/stream?after_cursor=alpha:1000000', undefined, 400, 'invalid_cursor: after_cursor is ahead of the log: …'],
    [
      'GET',
      '/v0/city/worn/events?after_seq=1',
      undefined,
      410,
      'cursor_expired: the log no longer holds this position; the oldest position is 4',
    ],
    [
      'GET',
      '/v0/city/worn/events/stream?after_seq=3',
      undefined,
      410,
      'cursor_expired: the log no longer holds this position; the oldest position is 4',
    ],
    [
      'GET',
      '/v0/events?after_cursor=worn:0',
      undefined,
      410,
      'cursor_expired: the log no longer holds this position; the oldest position is worn:4',
    ],
    [
      'GET',
      '/v0/events/stream?after_cursor=worn:0',
      undefined,
      410,
      'cursor_expired: the log no longer holds this position; the oldest position is worn:4',
    ],
  ];
  rows.forEach(refuses);

  it.each([
    ['/v0/city/alpha/events/stream', 'x'],
    ['/v0/city/alpha/events/stream', '1000000'],
    ['/v0/events/stream', 'alpha'],
    ['/v0/events/stream', '~!!'],
  ])('%s refuses the Last-Event-ID %s, whatever position the query has', async (path, id) => {
    const query = path.startsWith('/v0/city') ? '?after_seq=0' : '?after_cursor=__supervisor__:0';
    const reply = await witness.unchangedBy(() => a.get(path + query, { 'Last-Event-ID': id }));
    expectRefusal(reply, path, { status: 400, detail: 'invalid_cursor: Last-Event-ID …' });
  });
});

describe('emitting and rotating', () => {
  const emit = (body: unknown, status: number, detail: string | RegExp, fields?: string[]): Row => [
    'POST',
    '/v0/city/alpha/events',
    body,
    status,
    detail,
    fields,
  ];
  const rows: Row[] = [
    emit({}, 422, INVALID, ['body.actor', 'body.type']),
    emit({ type: '', actor: '' }, 422, INVALID, ['body.actor', 'body.type']),
    emit({ type: 'a', actor: 'b', seq: 1 }, 422, INVALID, ['body.seq']),
    emit({ type: 'a', actor: 'b', payload: [] }, 422, INVALID, ['body.payload']),
    emit({ type: 'a', actor: 'b', payload: 'x' }, 422, INVALID, ['body.payload']),
    ...['request.failed', 'request.x', 'supervisor.started', 'city.created', 'city.x', 'controller.started', 'events.rotated'].map((type) =>
      emit({ type, actor: 'b' }, 422, INVALID, ['body.type']),
    ),
    emit({ type: 'mail.sent', actor: 'b', payload: { rig: 1 } }, 422, INVALID, ['body.payload.rig']),
    emit({ type: 'mail.sent', actor: 'b', payload: { rig: 'r', more: 1 } }, 422, INVALID, ['body.payload.more']),
    emit({ type: 'order.fired', actor: 'b', payload: { more: 1 } }, 422, INVALID, ['body.payload.more']),
    emit({ type: 'a', actor: 'b\u0000' }, 422, INVALID, ['body.actor']),
    emit('{"type":"a","actor":"b","payload":{"x":"\\udfff"}}', 422, INVALID, ['body.payload.x']),
    emit(`{"type":"a","actor":"b","payload":{"x":${'['.repeat(70)}${']'.repeat(70)}}}`, 422, INVALID, ['body']),
    emit({ type: 'a', actor: 'b', payload: { x: 'y'.repeat(1024 * 1024) } }, 413, 'payload_too_large: …'),
    ['POST', '/v0/city/alpha/events/rotate?wait=later', undefined, 422, INVALID, ['query.wait']],
    ['POST', '/v0/city/alpha/events/rotate?now=1', undefined, 422, INVALID, ['query.now']],
  ];
  rows.forEach(refuses);

  it('422 idempotency_mismatch', async () => {
    const key = { 'Idempotency-Key': 'emit' };
    const first = await a.post('/v0/city/alpha/events', { type: 'note', actor: 'x' }, key);
    expect(first.status).toBe(201);
    const other = await witness.unchangedBy(() => b.post('/v0/city/alpha/events', { type: 'note', actor: 'y' }, key));
    expectRefusal(other, '/v0/city/alpha/events', {
      status: 422,
      detail: 'idempotency_mismatch: Idempotency-Key reused with different request body',
    });
    expect((await witness.unchangedBy(() => b.post('/v0/city/alpha/events', { actor: 'x', type: 'note' }, key))).body).toEqual(first.body);
  });
});

describe('keys', () => {
  beforeAll(async () => {
    expect((await a.post('/v0/keys', { name: 'taken' })).status).toBe(201);
  });
  const rows: Row[] = [
    ['POST', '/v0/keys', {}, 422, INVALID, ['body.name']],
    ['POST', '/v0/keys', { name: 'a', scope: 'admin' }, 422, INVALID, ['body.scope']],
    ['POST', '/v0/keys', { name: 'a', cities: [] }, 422, INVALID, ['body.cities']],
    ['POST', '/v0/keys', { name: 'a', cities: ['a,b'] }, 422, INVALID, ['body.cities.0']],
    ['POST', '/v0/keys', { name: 'taken' }, 409, 'conflict: a key is already called taken'],
    ['DELETE', '/v0/keys/nonsense', undefined, 422, INVALID, ['path.id']],
    ['DELETE', '/v0/keys/0123456789ab', undefined, 404, 'not_found: no such key: 0123456789ab'],
  ];
  rows.forEach(refuses);
});

function b64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Holds every process at a failpoint until the returned function is called. */
function hold(name: string): () => void {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  for (const f of stack.failpoints) f.arm(name, () => held);
  return () => {
    for (const f of stack.failpoints) f.disarm(name);
    release();
  };
}
