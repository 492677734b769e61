import { mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'smol-toml';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { eventually, openStream, type Frame } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
});
afterAll(() => stack.stop());

const loopback = (dir: string, more: object = {}): object => ({ dir, provider: 'loopback', ...more });

/** The one terminal event of an accepted request, read from its cursor on. */
async function terminal(accepted: Reply): Promise<Frame['data']> {
  expect(accepted.status).toBe(202);
  const { request_id, event_cursor } = accepted.body as { request_id: string; event_cursor: string };
  expect(request_id).toMatch(/^req-[0-9a-f]{24}$/);
  const stream = await openStream(`${stack.urls[1]}/v0/events/stream?after_cursor=${encodeURIComponent(event_cursor)}`);
  try {
    const frame = await stream.until((f) => f.data?.payload?.request_id === request_id);
    return frame.data;
  } finally {
    await stream.close();
  }
}

async function make(name: string, more: object = {}): Promise<string> {
  expect((await terminal(await a.post('/v0/city', loopback(name, more)))).type).toBe('request.result.city.create');
  return join(stack.citiesRoot, name);
}

async function listed(name: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await b.get('/v0/cities');
  return (body.items as Record<string, unknown>[]).find((city) => city.name === name);
}

function refused(reply: Reply, status: number, detail: RegExp | string): void {
  expect({ status: reply.status, detail: reply.body?.detail }).toMatchObject({ status, detail: expect.stringMatching(detail) });
  expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(reply.body).toMatchObject({
    type: expect.stringMatching(/^urn:supervisor:error:/),
    code: expect.any(String),
    title: expect.any(String),
  });
}

describe('creating a city', () => {
  it('scaffolds the directory, registers it at once and ends with one event', async () => {
    const reply = await a.post('/v0/city', loopback('first', { bootstrap_profile: 'kubernetes' }));
    expect(reply.status).toBe(202);
    const dir = join(stack.citiesRoot, 'first');
    expect(await listed('first')).toMatchObject({ name: 'first', path: dir });
    const config = parse(await readFile(join(dir, 'city.toml'), 'utf8')) as Record<string, object>;
    expect(config).toEqual({
      workspace: { provider: 'loopback' },
      providers: { loopback: { base: 'builtin:loopback' } },
      api: { port: 9443, bind: '0.0.0.0', allow_mutations: true },
    });
    expect(parse(await readFile(join(dir, 'pack.toml'), 'utf8'))).toMatchObject({ pack: { name: 'first', schema: 2 } });
    expect((await readdir(dir)).sort()).toEqual(
      [
        '.gc',
        '.gitignore',
        'agents',
        'assets',
        'city.toml',
        'commands',
        'doctor',
        'formulas',
        'orders',
        'overlays',
        'pack.toml',
        'template-fragments',
      ].sort(),
    );
    expect((await readdir(join(dir, '.gc'))).sort()).toEqual(['cache', 'events.jsonl', 'runtime', 'settings.json', 'site.toml', 'system']);
    const event = await terminal(reply);
    expect(event).toMatchObject({
      type: 'request.result.city.create',
      subject: 'first',
      actor: 'reconciler',
      payload: { name: 'first', path: dir },
    });
    expect(await listed('first')).toEqual({ name: 'first', path: dir, running: true, status: 'running' });
    const { body } = await b.get('/v0/city/first');
    expect(body).toEqual({
      name: 'first',
      path: dir,
      version: expect.any(String),
      suspended: false,
      provider: 'loopback',
      uptime_sec: expect.any(Number),
      // The mayor, the worker of the shipped pack, and the provider's own.
      agent_count: 3,
      rig_count: 0,
    });
  });

  it('delivers city.created with the returned cursor, before the end', async () => {
    const reply = await a.post('/v0/city', loopback('announced'));
    const stream = await openStream(`${stack.urls[0]}/v0/events/stream?after_cursor=${encodeURIComponent(reply.body.event_cursor)}`);
    await stream.until((f) => f.data?.type === 'request.result.city.create');
    const created = stream.frames.find((f) => f.data?.type === 'city.created' && f.data?.subject === 'announced');
    expect(created?.data).toMatchObject({ city: 'announced', seq: 1, actor: 'api', payload: { name: 'announced' } });
    await stream.close();
  });

  it.each([
    [{}, /^validation_failed: validation failed$/],
    [{ dir: '' }, /^validation_failed: validation failed$/],
    [{ dir: 'x', provider: '' }, /^validation_failed: validation failed$/],
    [{ dir: 'x', provider: 'loopback', unknown: 1 }, /^validation_failed: validation failed$/],
    [{ dir: 'x', provider: 'loopback', bootstrap_profile: 'huge' }, /^validation_failed: validation failed$/],
    [{ dir: 'x' }, /^validation_failed: invalid provider: provider or start_command required$/],
    [{ dir: 'x', provider: 'claude', start_command: 'x' }, /^validation_failed: invalid provider: .*mutually exclusive$/],
    [{ dir: 'x', provider: 'nobody' }, /^validation_failed: invalid provider: unknown provider "nobody"$/],
    [{ dir: '..', provider: 'loopback' }, /^validation_failed: invalid city directory: /],
    [{ dir: '.', provider: 'loopback' }, /^validation_failed: invalid city directory: /],
    [{ dir: 'a/../../b', provider: 'loopback' }, /^validation_failed: invalid city directory: /],
    [{ dir: '/etc/city', provider: 'loopback' }, /^validation_failed: invalid city directory: /],
    [{ dir: 'x'.repeat(300), provider: 'loopback' }, /^validation_failed: invalid city directory: /],
    [{ dir: '-x', provider: 'loopback' }, /^validation_failed: invalid city name: /],
    [{ dir: 'x', name: 'a,b', provider: 'loopback' }, /^validation_failed: invalid city name: /],
    [{ dir: 'x', name: '__supervisor__', provider: 'loopback' }, /^validation_failed: invalid city name: /],
  ])('refuses %j with 422', async (body, detail) => {
    refused(await a.post('/v0/city', body), 422, detail);
    expect(existsSync(join(stack.citiesRoot, 'x'))).toBe(false);
  });

  it('refuses a directory that a symbolic link leads out of the root', async () => {
    await symlink('/tmp', join(stack.citiesRoot, 'way-out'));
    refused(await a.post('/v0/city', loopback('way-out/city')), 422, /^validation_failed: invalid city directory: /);
    await mkdir(join(stack.citiesRoot, 'trap'));
    await symlink('/tmp', join(stack.citiesRoot, 'trap/agents'));
    refused(await a.post('/v0/city', loopback('trap')), 422, /agents is a symbolic link/);
    expect(await readdir(join(stack.citiesRoot, 'trap'))).toEqual(['agents']);
  });

  it('answers 409 for a directory or a name that is taken', async () => {
    const dir = await make('taken');
    refused(await b.post('/v0/city', loopback('taken')), 409, `conflict: city already initialized at ${dir}`);
    refused(await b.post('/v0/city', loopback('taken', { name: 'other' })), 409, /^conflict: city already initialized at /);
    refused(await b.post('/v0/city', loopback('elsewhere', { name: 'taken' })), 409, /^conflict: city name already taken: taken$/);
    expect(existsSync(join(stack.citiesRoot, 'elsewhere'))).toBe(false);
  });

  it('lets one of twenty simultaneous creates win and leaves one scaffold', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).post('/v0/city', loopback('race'))));
    const winners = replies.filter((reply) => reply.status === 202);
    expect(winners).toHaveLength(1);
    for (const reply of replies) if (reply.status !== 202) refused(reply, 409, /^conflict: /);
    expect((await terminal(winners[0]!)).type).toBe('request.result.city.create');
  });

  it('replays the answer for the same Idempotency-Key and refuses another body', async () => {
    const key = { 'Idempotency-Key': 'once' };
    const first = await a.post('/v0/city', loopback('idem'), key);
    const again = await b.post('/v0/city', { provider: 'loopback', dir: 'idem' }, key);
    expect(again.status).toBe(202);
    expect(again.text).toBe(first.text);
    refused(await b.post('/v0/city', loopback('idem2'), key), 422, /^idempotency_mismatch: /);
    await terminal(first);
  });

  it('keeps what the user has and takes everything back when the commit fails', async () => {
    const dir = join(stack.citiesRoot, 'mine');
    await mkdir(join(dir, 'agents/mayor'), { recursive: true });
    await writeFile(join(dir, '.gitignore'), 'node_modules\n');
    await writeFile(join(dir, 'agents/mayor/prompt.template.md'), 'My own mayor.\n');
    stack.failpoints[0]!.arm('city.before_commit', () => {
      throw new Error('planted');
    });
    expect((await a.post('/v0/city', loopback('mine'), { 'Idempotency-Key': 'mine' })).status).toBe(500);
    expect((await a.post('/v0/city', loopback('deep/er/still'))).status).toBe(500);
    stack.failpoints[0]!.disarm();
    expect(existsSync(join(stack.citiesRoot, 'deep'))).toBe(false);
    expect((await readdir(dir)).sort()).toEqual(['.gitignore', 'agents']);
    expect(await readFile(join(dir, '.gitignore'), 'utf8')).toBe('node_modules\n');
    expect((await terminal(await a.post('/v0/city', loopback('mine'), { 'Idempotency-Key': 'mine' }))).type).toBe(
      'request.result.city.create',
    );
    expect(await readFile(join(dir, '.gitignore'), 'utf8')).toMatch(/^node_modules\n\.gc\/\n/);
    expect(await readFile(join(dir, 'agents/mayor/prompt.template.md'), 'utf8')).toBe('My own mayor.\n');
  });

  it('answers 202 when the commit went through but its answer was lost', async () => {
    stack.failpoints[0]!.arm('city.after_commit', () => {
      throw new Error('connection lost');
    });
    const reply = await a.post('/v0/city', loopback('lost-answer'));
    stack.failpoints[0]!.disarm();
    expect((await terminal(reply)).type).toBe('request.result.city.create');
  });

  it('says that a dependency is missing when the cities root cannot be used', async () => {
    const file = join(stack.config.dataDir, 'a-file');
    await writeFile(file, '');
    const odd = await stack.add('api', { citiesRoot: file });
    refused(await api(odd.url).post('/v0/city', loopback('nowhere')), 503, /^dependency_missing: /);
  });
});

describe('the life of a city', () => {
  it('stops, stays listed, starts again, and says so in its own log', async () => {
    await make('cycle');
    expect((await terminal(await b.post('/v0/city/cycle/stop'))).type).toBe('request.result.city.stop');
    expect(await listed('cycle')).toMatchObject({ running: false, status: 'stopped' });
    for (const path of ['', '/status', '/health', '/readiness', '/provider-readiness']) {
      refused(await a.get(`/v0/city/cycle${path}`), 404, 'not_found: city not found or not running: cycle');
    }
    expect((await terminal(await a.post('/v0/city/cycle/stop'))).type).toBe('request.result.city.stop');
    expect((await terminal(await a.post('/v0/city/cycle/start'))).type).toBe('request.result.city.start');
    expect((await terminal(await a.post('/v0/city/cycle/start'))).type).toBe('request.result.city.start');
    const { body } = await a.get('/v0/city/cycle/events?after_seq=0');
    const types: string[] = body.items.map((e: { type: string }) => e.type);
    // What its sessions do is told in between.
    expect(types.filter((type) => /^(city|config|controller)\./.test(type))).toEqual([
      'city.created',
      'config.reloaded',
      'controller.started',
      'controller.stopped',
      'controller.started',
    ]);
  });

  it('unregisters at once, leaves the directory, and attaches it again', async () => {
    const dir = await make('again');
    const reply = await a.post('/v0/city/again/unregister');
    expect(await listed('again')).toBeUndefined();
    refused(await b.get('/v0/city/again'), 404, 'not_found: city not found or not running: again');
    expect(await terminal(reply)).toMatchObject({
      type: 'request.result.city.unregister',
      subject: 'again',
      payload: { name: 'again', path: dir },
    });
    refused(await b.post('/v0/city/again/unregister'), 404, 'not_found: city not registered with supervisor: again');
    refused(await b.post('/v0/city', loopback('again')), 409, `conflict: city already initialized at ${dir}`);
    expect(await terminal(await b.post('/v0/cities/register', { dir: 'again' }))).toMatchObject({
      type: 'request.result.city.register',
      subject: 'again',
    });
    refused(await b.post('/v0/cities/register', { dir }), 409, `conflict: city already initialized at ${dir}`);
    refused(await b.post('/v0/cities/register', { dir: 'not-there' }), 422, /^validation_failed: invalid city directory: /);
  });

  it('always ends an unregister, also of a city that never ran and whose directory is gone', async () => {
    const dir = await make('vanished');
    await terminal(await a.post('/v0/city/vanished/stop'));
    await rm(dir, { recursive: true });
    expect((await terminal(await a.post('/v0/city/vanished/start'))).payload).toMatchObject({ error_code: 'city_config_failed' });
    expect((await terminal(await a.post('/v0/city/vanished/unregister'))).type).toBe('request.result.city.unregister');
  });

  it('refuses a second lifecycle operation while one is pending', async () => {
    const worker = stack.failpoints[2]!;
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    worker.arm('operation.after_claim', () => held);
    const reply = await a.post('/v0/city', loopback('pending'));
    const dir = join(stack.citiesRoot, 'pending');
    refused(await b.post('/v0/city', loopback('pending')), 409, `conflict: city initialization already in progress at ${dir}`);
    for (const step of ['stop', 'start', 'unregister']) {
      refused(await b.post(`/v0/city/pending/${step}`), 409, `conflict: city operation already in progress at ${dir}`);
    }
    expect(await listed('pending')).toMatchObject({ running: false, status: 'loading_config' });
    worker.disarm();
    go();
    expect((await terminal(reply)).type).toBe('request.result.city.create');
  });

  it('suspends and resumes, each with an event', async () => {
    await make('sleepy');
    expect((await a.patch('/v0/city/sleepy', { suspended: true })).body).toEqual({ status: 'ok' });
    expect((await b.get('/v0/city/sleepy')).body.suspended).toBe(true);
    expect((await b.get('/v0/city/sleepy/status')).body.agents).toEqual({ total: 6, running: 0, suspended: 6, quarantined: 0 });
    expect((await a.patch('/v0/city/sleepy', { suspended: false })).status).toBe(200);
    refused(await a.patch('/v0/city/sleepy', {}), 400, 'invalid: no fields to update');
    refused(await a.patch('/v0/city/nobody', { suspended: true }), 404, 'not_found: city not found or not running: nobody');
    const { body } = await a.get('/v0/city/sleepy/events?limit=2');
    expect(body.items.map((e: { type: string }) => e.type).sort()).toEqual(['city.resumed', 'city.suspended']);
  });

  it('answers a blocking status once the city moves', async () => {
    await make('watched');
    const now = await a.get('/v0/city/watched/status');
    const index = Number(now.headers.get('x-svc-index'));
    expect(index).toBeGreaterThan(0);
    const waiting = b.get(`/v0/city/watched/status?index=${index}&wait=20s`);
    await a.patch('/v0/city/watched', { suspended: true });
    const reply = await waiting;
    expect(Number(reply.headers.get('x-svc-index'))).toBe(index + 1);
    expect(reply.body.suspended).toBe(true);
    refused(await a.get('/v0/city/watched/status?wait=soon'), 422, /^validation_failed: /);
  });
});

describe('a city that cannot come up', () => {
  it('fails with its reason, and comes up by itself when its file changes', async () => {
    const dir = await make('broken');
    await terminal(await a.post('/v0/city/broken/stop'));
    const good = await readFile(join(dir, 'city.toml'), 'utf8');
    await writeFile(join(dir, 'city.toml'), '[workspace\nprovider = 1');
    const event = await terminal(await a.post('/v0/city/broken/start'));
    expect(event).toMatchObject({
      type: 'request.failed',
      subject: 'broken',
      payload: { operation: 'city.start', error_code: 'city_config_failed' },
    });
    expect(await listed('broken')).toEqual({
      name: 'broken',
      path: dir,
      running: false,
      status: 'init_failed',
      error: expect.stringMatching(/^city\.toml:1:/),
      error_code: 'city_config_failed',
      failure_class: 'structural',
      next_retry_at: expect.stringMatching(/Z$/),
    });
    await writeFile(join(dir, 'city.toml'), good);
    await eventually(async () => (await listed('broken'))?.running === true);
    const { body } = await a.get('/v0/events?type=request.result.city.start&limit=10');
    expect(body.items.filter((e: { subject: string }) => e.subject === 'broken')).toEqual([]);
    const log = await a.get('/v0/city/broken/events?limit=1');
    expect(log.body.items[0].type).toBe('controller.started');
  });

  it.each([
    ['pack_cache_failed', 'pack.toml', '[pack]\nname = 3'],
    ['city_init_failed', 'agents/mayor/prompt.template.md', '  \n'],
    ['city_config_failed', 'city.toml', '[workspace]\nprovider = "nobody"'],
  ])('ends with %s for a bad %s', async (code, file, content) => {
    const name = `bad-${file.replace(/\W+/g, '-')}`;
    stack.failpoints[2]!.arm('operation.after_claim', () => writeFile(join(stack.citiesRoot, name, file), content));
    const event = await terminal(await a.post('/v0/city', loopback(name)));
    stack.failpoints[2]!.disarm();
    expect(event).toMatchObject({ type: 'request.failed', payload: { operation: 'city.create', error_code: code } });
    await rm(join(stack.citiesRoot, name, file));
    await terminal(await a.post(`/v0/city/${name}/unregister`));
  });
});

describe('an initialization that breaks off', () => {
  it.each(['operation.after_phase', 'operation.before_finish', 'operation.after_finish'])(
    'at %s is repeated and ends once',
    async (place) => {
      const name = place.replace(/\W/g, '-');
      let broken = 0;
      stack.failpoints[2]!.arm(place, () => {
        if (broken++ === 0) throw new Error('planted');
      });
      const reply = await a.post('/v0/city', loopback(name));
      expect((await terminal(reply)).type).toBe('request.result.city.create');
      await eventually(() => broken > 0);
      stack.failpoints[2]!.disarm();
      const count = async (sql: string): Promise<number> =>
        (await adminAt<{ n: string }>(stack.databaseUrl, sql)).map((r) => Number(r.n))[0]!;
      expect(await count(`select count(*) n from events where payload ->> 'request_id' = '${reply.body.request_id}'`)).toBe(1);
      expect(await count(`select count(*) n from events e join event_streams s on s.id = e.stream_id where s.name = '${name}'`)).toBe(3);
    },
  );
});

describe('an abandoned create', () => {
  it('is taken back by a worker when its process died before the commit', async () => {
    stack.failpoints[0]!.arm('city.before_commit', () => new Promise(() => undefined));
    void a.post('/v0/city', loopback('orphan/city')).catch(() => undefined);
    const dir = join(stack.citiesRoot, 'orphan/city');
    await eventually(() => existsSync(join(dir, 'city.toml')));
    refused(await b.post('/v0/city', loopback('orphan/city')), 409, `conflict: city initialization already in progress at ${dir}`);
    // Its files are those of the create, which takes them away.
    refused(await b.post('/v0/cities/register', { dir }), 409, `conflict: city initialization already in progress at ${dir}`);
    stack.failpoints[0]!.disarm();
    await adminAt(stack.databaseUrl, "update city_reservations set expires_at = now() - interval '1 s'");
    await eventually(() => !existsSync(join(stack.citiesRoot, 'orphan')));
    await eventually(async () => (await adminAt(stack.databaseUrl, 'select 1 from city_reservations')).length === 0);
    expect((await terminal(await b.post('/v0/city', loopback('orphan/city')))).type).toBe('request.result.city.create');
  });
});

describe('readiness', () => {
  it('serves what the worker published', async () => {
    await eventually(async () => (await a.get('/v0/readiness')).body.items.claude.status !== 'probe_error');
    const { body } = await b.get('/v0/readiness');
    expect(Object.keys(body.items)).toEqual(['claude', 'codex', 'gemini', 'github_cli', 'loopback']);
    expect(body.items.loopback).toEqual({ name: 'loopback', kind: 'provider', display_name: 'Loopback', status: 'configured' });
    const providers = await b.get('/v0/provider-readiness?providers=pi,%20loopback,pi&fresh=1');
    expect(Object.keys(providers.body.providers)).toEqual(['pi', 'loopback']);
    refused(await a.get('/v0/readiness?items=claude,,pi'), 400, 'invalid: unsupported items value ""');
    refused(await a.get('/v0/provider-readiness?providers=github_cli'), 400, 'invalid: unsupported providers value "github_cli"');
  });

  it('refuses a create when every worker says that the provider is not ready', async () => {
    const strict = await stack.add('api', { providerCheck: 'enforce' });
    // The worker may say what it finds here at any time.
    const reply = await eventually(async () => {
      await adminAt(stack.databaseUrl, "update provider_readiness set status = 'needs_auth' where item = 'claude'");
      const asked = await api(strict.url).post('/v0/city', { dir: 'no-auth', provider: 'claude' });
      return String(asked.body.detail).includes('needs_auth') && asked;
    });
    refused(reply, 503, 'provider_not_ready: claude: needs_auth');
    expect(existsSync(join(stack.citiesRoot, 'no-auth'))).toBe(false);
    expect((await api(strict.url).post('/v0/city', loopback('fine'))).status).toBe(202);
  });
});

describe('the supervisor log', () => {
  it('says that the worker started', async () => {
    const { body } = await a.get('/v0/events?type=supervisor.started');
    expect(body.items[0]).toMatchObject({ city: '__supervisor__', actor: 'supervisor', payload: { previous_exit: 'unknown' } });
  });
});

describe('a key limited to cities', () => {
  it('sees and changes only those', async () => {
    await make('open');
    await make('closed');
    const guarded = await stack.add('api', { auth: 'keys' });
    const key = await a.post('/v0/keys', { name: 'limited', cities: ['open', 'mine-to-make'] });
    const limited = api(guarded.url, { Authorization: `Bearer ${key.body.key}` });
    refused(await api(guarded.url).get('/v0/cities'), 401, /^unauthorized: /);
    expect((await limited.get('/v0/cities')).body).toMatchObject({ total: 1, items: [{ name: 'open' }] });
    expect((await limited.get('/v0/city/open')).status).toBe(200);
    for (const path of ['', '/status', '/health', '/readiness', '/provider-readiness']) {
      refused(await limited.get(`/v0/city/closed${path}`), 404, 'not_found: city not found or not running: closed');
    }
    refused(await limited.patch('/v0/city/closed', { suspended: true }), 404, /^not_found: /);
    refused(await limited.post('/v0/city/closed/stop'), 404, 'not_found: city not found or not running: closed');
    refused(await limited.post('/v0/city/closed/unregister'), 403, /^forbidden: /);
    refused(await limited.post('/v0/city', loopback('another')), 403, /^forbidden: /);
    expect(existsSync(join(stack.citiesRoot, 'another'))).toBe(false);
    const made = await limited.post('/v0/city', loopback('mine-to-make'));
    expect(made.body.event_cursor).toMatch(/^__supervisor__:\d+,open:\d+$/);
    expect((await terminal(made)).type).toBe('request.result.city.create');
    expect((await a.get('/v0/city/mine-to-make/events?type=city.created')).body.items[0].actor).toBe('limited');
  });

  it('does not hear the answers of others under the same Idempotency-Key', async () => {
    await make('shared');
    const guarded = await stack.add('api', { auth: 'keys' });
    const key = await a.post('/v0/keys', { name: 'stranger', cities: ['elsewhere'] });
    const stranger = api(guarded.url, { Authorization: `Bearer ${key.body.key}` });
    const same = { 'Idempotency-Key': 'shared-stop' };
    const first = await a.post('/v0/city/shared/stop', undefined, same);
    expect((await b.post('/v0/city/shared/stop', undefined, same)).text).toBe(first.text);
    refused(await stranger.post('/v0/city/shared/stop', undefined, same), 404, /^not_found: /);
    await terminal(first);
  });
});
