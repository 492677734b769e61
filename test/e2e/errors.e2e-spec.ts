import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { svc } from '../support/cli.js';
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
  witness = await watchState(stack);
});
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
  });
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
    const { reached, release } = hold('scaffold.after_write');
    const first = a.post('/v0/city', dir('busy'), { 'Idempotency-Key': 'busy' });
    await reached;
    const again = await witness.unchangedBy(() => b.post('/v0/city', dir('busy')));
    expectRefusal(again, '/v0/city', { status: 409, detail: `conflict: city initialization already in progress at ${join(root, 'busy')}` });
    const named = await witness.unchangedBy(() => b.post('/v0/city', { ...dir('other'), name: 'busy' }));
    expectRefusal(named, '/v0/city', { status: 409, detail: 'conflict: city name already taken: busy' });
    for (const body of [dir('busy'), dir('busy2')]) {
      const keyed = await witness.unchangedBy(() => b.post('/v0/city', body, { 'Idempotency-Key': 'busy' }));
      expectRefusal(keyed, '/v0/city', { status: 409, detail: 'in_flight: request with this Idempotency-Key is already in progress' });
    }
    // Also when the first try is given up for dead, as long as what it left is there.
    await adminAt(stack.databaseUrl, `update idempotency_holds set expires_at = now() - interval '1 minute' where key = 'busy'`);
    const dead = await witness.unchangedBy(() => b.post('/v0/city', dir('busy'), { 'Idempotency-Key': 'busy' }));
    expectRefusal(dead, '/v0/city', { status: 409, detail: 'in_flight: request with this Idempotency-Key is already in progress' });
    expect(dead.headers.get('retry-after')).toBe('1');
    const client = await svc(['city', 'create', 'busy', '--provider', 'loopback', '--idempotency-key', 'busy'], {
      env: { SVC_API_URL: stack.urls[1]! },
    });
    expect([client.code, client.stderr]).toEqual([5, expect.stringContaining('in_flight: ')]);
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
    });
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
    const { release } = hold('operation.after_claim');
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
    const { release } = hold('operation.before_finish');
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
    ['GET', '/v0/cities?limits=1', undefined, 422, INVALID, ['query.limits']],
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

describe('keys', () => {
  beforeAll(async () => {
    expect((await a.post('/v0/keys', { name: 'taken' })).status).toBe(201);
  });
  const rows: Row[] = [
    ['POST', '/v0/keys', {}, 422, INVALID, ['body.name']],
    ['POST', '/v0/keys', { name: 'a', scope: 'admin' }, 422, INVALID, ['body.scope']],
    ['POST', '/v0/keys', { name: 'a', cities: [] }, 422, INVALID, ['body.cities']],
    ['POST', '/v0/keys', { name: 'a', cities: ['a,b'] }, 422, INVALID, ['body.cities.0']],
    ['POST', '/v0/keys', { name: 'taken' }, 409, /^conflict: a key is already called taken: [0-9a-f]{12}$/],
    ['DELETE', '/v0/keys/nonsense', undefined, 422, INVALID, ['path.id']],
    ['DELETE', '/v0/keys/0123456789ab', undefined, 404, 'not_found: no such key: 0123456789ab'],
  ];
  rows.forEach(refuses);
});

interface Held {
  /** Resolves once a process has come to the failpoint. */
  readonly reached: Promise<void>;
  release(): void;
}

/** Holds every process at a failpoint until it is released. */
function hold(name: string): Held {
  let release = (): void => undefined;
  let arrive = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  const stop = (): Promise<void> => {
    arrive();
    return held;
  };
  for (const f of stack.failpoints) f.arm(name, stop);
  return {
    reached,
    release: () => {
      for (const f of stack.failpoints) f.disarm(name);
      release();
    },
  };
}
