import { afterEach, describe, expect, it } from '@jest/globals';
import { VERSION } from '../../contract/version.js';
import type { Schemas } from '../api.js';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from '../testing/server.js';
import { clock, node, versions } from './client-checks.js';
import { shownArea, type Finding } from './finding.js';
import { openness } from './server-checks.js';

type Info = Schemas['SupervisorInfo'];

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const info = (values: Partial<Info> = {}): Info => ({
  version: VERSION,
  time: new Date().toISOString(),
  auth: 'off',
  read_only: false,
  heartbeat_ms: 15_000,
  tls: false,
  caller: { kind: 'anybody', name: 'api', rights: [], cities: null, expires_at: null },
  deployment: {
    database: { version: '18.1', schema: '0001_first', missing: [], unknown: [] },
    queue: 'postgres',
    places: [],
    processes: [{ id: 'one', role: 'all', host: 'here', version: VERSION }],
  },
  ...values,
});
const runner = (values: Partial<Schemas['Runner']> = {}): Schemas['Runner'] => ({
  id: 'runner-1',
  host: 'here',
  process_id: 'one',
  state: 'active',
  capacity: 2,
  isolation: 'bubblewrap',
  sessions: 0,
  live: 0,
  lease_age_s: 0,
  lease_until: '',
  registered_at: '',
  ...values,
});
const HEALTH = { status: 'ok', version: VERSION, uptime_sec: 1, cities_total: 0, cities_running: 0 };

async function doctor(
  said: Info,
  runners: Schemas['Runner'][],
  routes: Record<string, Handler> = {},
  ...args: string[]
): Promise<Finding[]> {
  server = await testServer({
    '/health': (_request, response) => json(response, HEALTH),
    '/ready': (_request, response) => json(response, { status: 'ready', parts: ['database'] }),
    '/v0/info': (_request, response) => json(response, said),
    '/v0/runners': (_request, response) => json(response, { items: runners, total: runners.length }),
    '/v0/cities': (_request, response) => json(response, { items: [], total: 0 }),
    ...routes,
  });
  const io = fakeIo();
  await runCli(['doctor', '--json', '--api', server.url, ...args], io);
  return (JSON.parse(io.stdout) as { checks: Finding[] }).checks;
}
/** The city alpha, which runs. */
const alpha = (suspended: boolean, services: readonly object[] = []): Record<string, Handler> => ({
  '/v0/cities': (_request, response) => json(response, { items: [{ name: 'alpha', path: '/alpha', running: true }], total: 1 }),
  '/v0/city/alpha': (_request, response) => json(response, { name: 'alpha', path: '/alpha', suspended }),
  // Its files do not say that somebody has suspended it.
  '/v0/city/alpha/config': (_request, response) => json(response, { workspace: { suspended: false }, agents: [], revision: 3 }),
  '/v0/city/alpha/config/revisions': (_request, response) => json(response, { items: [], total: 0 }),
  '/v0/city/alpha/providers': (_request, response) => json(response, { items: [], total: 0 }),
  '/v0/city/alpha/services': (_request, response) => json(response, { items: services, total: services.length }),
});
const statusOf = (found: readonly Finding[], name: string): string | undefined => found.find((one) => one.name === name)?.status;

describe('svc doctor', () => {
  it.each([
    [0, 'ok'],
    [-4_000, 'ok'],
    [30_000, 'warning'],
    [-3_600_000, 'failed'],
  ])('takes a clock that is %d ms apart for %s', (apart, status) => {
    expect(clock(apart)).toMatchObject({ status, ...(status === 'ok' ? {} : { mend: 'timedatectl set-ntp true' }) });
  });

  it('says on which side a clock is', () => {
    expect([clock(30_000).message, clock(-30_000).message]).toEqual([
      expect.stringContaining('behind the server'),
      expect.stringContaining('ahead of the server'),
    ]);
  });

  it('knows what it runs on, and another release', () => {
    expect([node('v18.1.0').status, node('v20.0.0').status, node('v24.1.0').status]).toEqual(['failed', 'ok', 'ok']);
    expect([versions(VERSION).status, versions('99.0.0').status]).toEqual(['ok', 'warning']);
  });

  it.each([
    [info(), 'http://127.0.0.1:1', ['ok']],
    [info(), 'http://far.example:1', ['warning', 'warning']],
    [info({ auth: 'keys' }), 'http://far.example:1', ['ok', 'warning']],
    [info({ auth: 'keys', tls: true }), 'https://far.example:1', ['ok']],
    [info({ read_only: true }), 'http://far.example:1', ['failed', 'warning']],
  ])('finds who may come in (%#)', (said, url, statuses) => {
    expect(openness(said, new URL(url)).map(({ status }) => status)).toEqual(statuses);
  });

  it('finds parts of the server that do not work, and what to look at', async () => {
    const body = { status: 503, detail: 'unavailable: not ready: queue', errors: [{ location: 'queue', message: 'no answer' }] };
    const found = await doctor(info(), [runner()], {
      '/ready': (_request, response) => {
        response.writeHead(503, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
      },
    });
    expect(found).toContainEqual(
      expect.objectContaining({
        area: 'server',
        name: 'queue',
        status: 'failed',
        // Requests are not refused meanwhile.
        message: 'no answer: what is accepted meanwhile is taken from the database, later; /ready is 503 until it works',
        mend: expect.stringContaining('redis-cli'),
      }),
    );
  });

  it('says which provider was meant, and looks at the others', async () => {
    const item = { kind: 'provider', display_name: 'One', status: 'configured' };
    const HINTS: Readonly<Record<string, string>> = { claud: 'did you mean claude?', else: 'known are claude, codex, opencode' };
    const readiness: Handler = ({ url }, response) => {
      // Without names it tells of some only, and opencode is none of them.
      const asked = new URL(url!, 'http://here').searchParams.get('items')?.split(',') ?? ['claude', 'codex'];
      const stranger = asked.find((name) => name in HINTS);
      if (stranger === undefined) return json(response, { items: Object.fromEntries(asked.map((name) => [name, item])) });
      const message = `unsupported items value "${stranger}"`;
      const errors = [
        { location: 'query.items', message, value: stranger },
        { location: 'body.hint', message: HINTS[stranger] },
      ];
      response.writeHead(400, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ title: 'Refused', status: 400, detail: `invalid: ${message}`, code: 'invalid', errors }));
    };
    const found = await doctor(info(), [runner()], { '/v0/readiness': readiness }, '--providers', 'opencode,claud,else,codex');
    expect(found.filter(({ area }) => area === 'providers').map(({ name, status, message }) => [name, status, message])).toEqual([
      ['codex', 'ok', expect.stringContaining('installed')],
      ['opencode', 'ok', expect.stringContaining('installed')],
      ['claud', 'failed', 'no provider is called claud; did you mean claude?'],
      ['else', 'failed', 'no provider is called else; known are claude, codex, opencode'],
    ]);
  });

  it('condemns no provider where its question is refused for another reason', async () => {
    const readiness: Handler = (_request, response) => problem(response, 400, 'invalid: no such query parameter: fresh');
    const found = await doctor(info(), [runner()], { '/v0/readiness': readiness }, '--providers', 'opencode');
    expect(found.filter(({ area }) => area === 'providers')).toEqual([
      expect.objectContaining({ name: 'providers', status: 'failed', message: expect.stringContaining('no such query parameter') }),
    ]);
  });

  it('looks for a queue where it is', async () => {
    const errors = [{ location: 'queue', message: 'no answer from PostgreSQL' }];
    const found = await doctor(info(), [runner()], {
      '/ready': (_request, response) => {
        response.writeHead(503, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ status: 503, errors }));
      },
    });
    expect(found.find(({ name }) => name === 'queue')!.mend).toContain('psql');
  });

  it.each([502, 503, 504])('has nobody start a server where something in front of it answers with %i', async (status) => {
    const found = await doctor(info(), [], { '/health': (_request, response) => response.writeHead(status).end('<html>') });
    expect(found.filter(({ status }) => status !== 'ok')).toEqual([
      {
        area: 'client',
        name: 'server',
        status: 'failed',
        message: expect.stringMatching(`^http://127.0.0.1:\\d+ answers HTTP ${status}: what is in front of the service reaches no server$`),
      },
    ]);
  });

  it('has nobody start a server where something breaks off, and one where nobody has the port', async () => {
    const cut = await doctor(info(), [], { '/health': (request) => request.socket.destroy() });
    await server!.close();
    const io = fakeIo();
    await runCli(['doctor', '--json', '--api', server!.url], io);
    const free = (JSON.parse(io.stdout) as { checks: Finding[] }).checks;
    const mends = [cut, free].map((found) => found.filter(({ name }) => name === 'server').map(({ status, mend }) => [status, mend]));
    expect(mends).toEqual([[['failed', undefined]], [['failed', 'svc serve']]]);
  });

  it('waits for nothing that asks a database which does not work', async () => {
    const errors = [{ location: 'database', message: 'no answer within 2000 ms' }];
    const found = await doctor(info(), [runner()], {
      '/ready': (_request, response) => {
        response.writeHead(503, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ status: 503, errors }));
      },
      '/v0/info': () => undefined,
    });
    expect([statusOf(found, 'server'), statusOf(found, 'key'), statusOf(found, 'database')]).toEqual(['ok', 'skipped', 'failed']);
  });

  it('finds hosts without walls, without room and without workers', async () => {
    const well = await doctor(info(), [runner()]);
    expect(well.filter(({ status }) => status !== 'ok')).toEqual([]);
    await server!.close();
    const open = await doctor(info(), [
      runner({ isolation: 'none', sessions: 2 }),
      runner({ host: 'users', isolation: 'users', capacity: 0 }),
    ]);
    expect(['runner here', 'runner users', 'room', 'network walls'].map((name) => statusOf(open, name))).toEqual([
      'warning',
      'ok',
      'warning',
      'warning',
    ]);
    await server!.close();
    const { deployment } = info();
    const alone = await doctor(
      info({ deployment: { ...deployment!, processes: [{ id: 'one', role: 'api', host: 'here', version: VERSION }] } }),
      [runner({ state: 'draining' })],
    );
    expect([statusOf(alone, 'processes'), statusOf(alone, 'runners')]).toEqual(['failed', 'failed']);
  });

  it('counts no runner that has not been heard of, whatever its record says', async () => {
    const found = await doctor(info(), [runner({ host: 'gone', lease_age_s: 38 }), runner({ sessions: 1 })]);
    expect([statusOf(found, 'runner gone'), statusOf(found, 'runner here')]).toEqual(['failed', 'ok']);
    expect(found.find(({ name }) => name === 'runner gone')!.message).toContain('not heard of for 38');
    expect(found.find(({ name }) => name === 'room')!.message).toBe('1 of 2 sessions');
    await server!.close();
    // It is about to be written off, as one that a restore has brought back.
    const soon = await doctor(info(), [runner({ host: 'gone', lease_age_s: 12 }), runner()]);
    expect([statusOf(soon, 'runner gone'), statusOf(soon, 'runner here')]).toEqual([undefined, 'ok']);
    await server!.close();
    expect(statusOf(await doctor(info(), [runner({ host: 'gone', lease_age_s: 12 })]), 'runner gone')).toBe('failed');
    await server!.close();
    const none = await doctor(info(), [runner({ host: 'gone', lease_age_s: 38 })]);
    expect([statusOf(none, 'runner gone'), statusOf(none, 'runners'), statusOf(none, 'room')]).toEqual(['failed', 'failed', undefined]);
  });

  it('has nobody install anything in a container, whose image has it', async () => {
    const found = await doctor(info(), [runner({ isolation: 'none' }), runner({ host: '0a1b2c3d4e5f', isolation: 'none' })]);
    const mends = found.filter(({ name }) => name.startsWith('runner ')).map(({ mend }) => mend);
    expect(mends).toEqual([expect.stringContaining('apt-get'), expect.stringMatching(/^docker compose .*docker-compose\.isolation\.yml/)]);
  });

  it('finds folders that are full, nearly full or read-only', async () => {
    const places = (['ok', 'warn', 'critical'] as const).map((level) => ({
      place: 'data' as const,
      directory: '/data',
      free_bytes: 2 ** 30,
      level,
      writable: true,
    }));
    const found = await doctor(
      info({ deployment: { ...info().deployment!, places: [...places, { ...places[0]!, place: 'cities', writable: false }] } }),
      [runner()],
    );
    expect(found.filter(({ name }) => name === 'data folder').map(({ status }) => status)).toEqual(['ok', 'warning', 'failed']);
    expect(found).toContainEqual(
      expect.objectContaining({ name: 'cities folder', status: 'failed', message: '/data cannot be written by the service' }),
    );
  });

  it('finds a host.toml that cannot be used', async () => {
    const host_file_fault = '/data/host.toml:2: column 3: is not TOML';
    const found = await doctor(info({ deployment: { ...info().deployment!, host_file_fault } }), [runner()]);
    const message = `${host_file_fault}: git signs in nowhere, and the service does not start again`;
    expect(found.filter(({ status }) => status === 'failed')).toEqual([expect.objectContaining({ name: 'host.toml', message })]);
  });

  it.each([
    ['a name that nobody knows', async () => 'https://svc.invalid:1', ['server']],
    [
      'something that speaks no TLS',
      async () => {
        server = await testServer({});
        return server.url.replace('http:', 'https:');
      },
      ['certificate'],
    ],
  ])('counts one fault once: %s', async (_what, address, broken) => {
    const io = fakeIo();
    await runCli(['doctor', '--json', '--api', await address()], io);
    const { checks } = JSON.parse(io.stdout) as { checks: Finding[] };
    expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(broken);
    expect(checks.map(({ name }) => name)).toEqual(['node', 'server', 'certificate']);
  });

  it('tells one look that fails and goes on with the others', async () => {
    const found = await doctor(info(), [], { '/v0/runners': (_request, response) => problem(response, 500, 'internal: broken') });
    expect(found).toContainEqual({ area: 'runners', name: 'runners', status: 'failed', message: 'internal: broken' });
  });

  it('lets nothing of what it shows reach the terminal as it is', () => {
    const shown = shownArea('city \u001b[2Jx', [{ name: 'a', status: 'failed', message: 'b\nc', mend: 'd\u001b[0m' }], {
      colour: false,
    });
    expect(shown).toBe('city x\n  failed   a  b c\n              $ d\n');
  });

  it.each([
    [true, 'skipped', 'suspended; `svc city resume alpha` lets its agents start'],
    [false, 'ok', 'running'],
  ])('says whether a city that runs is suspended: %s', async (suspended, status, message) => {
    const found = await doctor(info(), [runner()], alpha(suspended));
    expect(found).toContainEqual(expect.objectContaining({ area: 'city alpha', name: 'status', status, message }));
  });

  it('names each service of a city that cannot be used, and where its words are', async () => {
    const service = (service_name: string, state: string, more = {}): object => ({ service_name, state, local_state: state, ...more });
    const found = await doctor(
      info(),
      [runner()],
      alpha(false, [
        service('board', 'degraded', { local_state: 'config_error', reason: 'command_missing', detail: 'there is no ./board' }),
        service('chat', 'starting'),
        service('docs', 'ready'),
        service('feed', 'degraded', { reason: 'exited' }),
      ]),
    );
    const of = (name: string, message: string, command = 'logs'): object => ({
      area: 'city alpha',
      name: `service ${name}`,
      status: 'failed',
      message,
      mend: `svc service ${command} ${name} --city alpha`,
    });
    expect(found.filter(({ name }) => name.startsWith('service '))).toEqual([
      of('board', 'config_error: command_missing: there is no ./board', 'show'),
      of('feed', 'degraded: exited'),
    ]);
  });
});
