import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import addFormats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, spawnSvc, startSvc, svc, type CliOptions, type CliRun } from '../support/cli.js';
import { api } from '../support/http.js';
import { openStream } from '../support/sse.js';

/** The client against two apis and a worker: what goes in at one replica comes out at the other. */
let stack: Stack;
let dir: string;
const at = (replica: number, args: readonly string[], env: Record<string, string> = {}): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[replica]!, ...env } });
const run = (...args: string[]): Promise<CliRun> => at(0, args);
const rows = (result: CliRun): Record<string, unknown>[] =>
  result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function ok(...args: string[]): Promise<CliRun> {
  const result = await run(...args);
  expect([result.code, result.stderr.includes('svc:')]).toEqual([0, false]);
  return result;
}

const emit = async (type: string, payload: Record<string, unknown> = {}): Promise<void> => {
  await ok('event', 'emit', type, '--city', 'alpha', '--subject', 's', '--actor', 'tester', '--payload', JSON.stringify(payload));
};

beforeAll(async () => {
  stack = await startStack({ config: { heartbeatMs: 100 } });
  dir = join(stack.citiesRoot, 'alpha');
  const created = await run('city', 'create', 'alpha', '--provider', 'loopback');
  expect(created).toEqual({ code: 0, stdout: `alpha is running: ${dir}\n`, stderr: expect.stringMatching(/^creating alpha\n/) });
});
afterAll(async () => {
  killSvc();
  await stack.stop();
});

describe('svc city', () => {
  it('lists cities as a table and as one JSON line', async () => {
    expect((await ok('city', 'list')).stdout).toBe(`NAME   STATUS   PATH\nalpha  running  ${dir}\n`);
    expect(rows(await ok('city', 'list', '--json'))).toEqual([expect.objectContaining({ name: 'alpha', running: true, path: dir })]);
  });

  it('shows a running city', async () => {
    const { stdout } = await ok('city', 'status', 'alpha');
    expect(stdout).toMatch(/^name: +alpha\nstatus: +running\n/);
    // Its mayor, the worker of the shipped pack, and that of its provider, with each place of a pool.
    const agents = rows(await ok('agent', 'list', '--city', 'alpha', '--json')).map(({ name }) => String(name));
    expect(agents).toContain('mayor');
    expect(stdout).toMatch(new RegExp(`^agents: +${agents.length} `, 'm'));
  });

  it('takes the city from the directory it is called in', async () => {
    const { code, stdout } = await svc(['city', 'status', '--json'], { cwd: join(dir, 'agents'), env: { SVC_API_URL: stack.urls[1]! } });
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ name: 'alpha' })]);
  });

  it('suspends and resumes', async () => {
    await ok('city', 'suspend', 'alpha');
    expect((await ok('city', 'status', 'alpha')).stdout).toContain('running, suspended');
    await ok('city', 'resume', 'alpha');
    expect((await ok('city', 'status', 'alpha')).stdout).not.toContain('suspended\n');
  });

  it('refuses a second create on the same directory with the detail of the API', async () => {
    const { code, stdout, stderr } = await run('city', 'create', 'alpha', '--provider', 'loopback');
    expect([code, stdout, stderr]).toEqual([4, '', `svc city create: conflict: city already initialized at ${dir}\n`]);
  });

  it('ends with the error code when the operation fails, and shows why', async () => {
    await ok('city', 'create', 'broken', '--provider', 'loopback');
    await ok('city', 'stop', 'broken');
    await writeFile(join(stack.citiesRoot, 'broken', 'city.toml'), 'not = [toml');
    const failed = await run('city', 'start', 'broken', '--json');
    expect(failed.code).toBe(1);
    expect(rows(failed)).toEqual([expect.objectContaining({ type: 'request.failed' })]);
    expect(failed.stderr).toMatch(/^svc city start: city_config_failed: .*\n$/);
    expect((await ok('city', 'status', 'broken')).stdout).toContain('init_failed');
    await ok('city', 'unregister', 'broken');
  });

  it('stops, starts, unregisters and registers again', async () => {
    await ok('city', 'create', 'round', '--provider', 'loopback');
    expect((await ok('city', 'stop', 'round')).stdout).toBe('round is stopped; it stays registered\n');
    expect((await ok('city', 'status', 'round')).stdout).toContain('stopped');
    const gone = await run('events', '--city', 'round', '--follow');
    const why = 'it is stopped: see `svc city status round`, and `svc city start round`';
    expect([gone.code, gone.stderr]).toEqual([3, `svc events: not_found: city not found or not running: round; ${why}\n`]);
    expect((await ok('city', 'start', 'round')).stdout).toBe('round is running\n');
    expect((await ok('city', 'unregister', 'round')).stdout).toContain('round is unregistered; its directory stays');
    const unknown = await run('city', 'status', 'round');
    expect([unknown.code, unknown.stderr]).toEqual([3, 'svc city status: city round is not registered: see `svc city list`\n']);
    expect((await ok('city', 'register', 'round')).stdout).toContain('round is running');
    expect(rows(await ok('city', 'unregister', 'round', '--no-wait', '--json'))).toEqual([
      expect.objectContaining({ request_id: expect.stringMatching(/^req-/), event_cursor: expect.stringContaining('__supervisor__:') }),
    ]);
  });
});

describe('svc events', () => {
  let validate: Record<'cityListLine' | 'supervisorListLine' | 'cityStreamLine' | 'supervisorStreamLine', ValidateFunction>;

  beforeAll(async () => {
    const read = async (file: string) => JSON.parse(await readFile(new URL(`../../openapi/${file}`, import.meta.url), 'utf8')) as object;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    addFormats.default(ajv);
    ajv.addSchema(await read('openapi.json'), 'https://svc.test/openapi.json');
    ajv.addSchema(await read('events.schema.json'), 'https://svc.test/events.schema.json');
    const line = (name: string) => ajv.getSchema(`https://svc.test/events.schema.json#/$defs/${name}`)!;
    validate = {
      cityListLine: line('cityListLine'),
      supervisorListLine: line('supervisorListLine'),
      cityStreamLine: line('cityStreamLine'),
      supervisorStreamLine: line('supervisorStreamLine'),
    };
  });

  const fits = (line: keyof typeof validate, items: readonly unknown[]): void => {
    for (const item of items)
      if (!validate[line](item)) throw new Error(`${JSON.stringify(item)}: ${JSON.stringify(validate[line].errors)}`);
  };
  const head = async (): Promise<string> => (await ok('events', '--city', 'alpha', '--seq')).stdout.trim();

  it('lists what is behind a position, oldest first, and nothing at all when nothing matches', async () => {
    const before = await head();
    expect(before).toMatch(/^\d+$/);
    for (const n of [1, 2, 3]) await emit('demo.listed', { n, deep: { n } });
    const listed = rows(await ok('events', '--city', 'alpha', '--after', before));
    expect(listed.map((e) => [e.type, e.actor, (e.payload as { n: number }).n])).toEqual(
      [1, 2, 3].map((n) => ['demo.listed', 'tester', n]),
    );
    fits('cityListLine', listed);
    expect(rows(await ok('events', '--city', 'alpha', '--type', 'demo.listed', '--payload-match', 'deep.n=2'))).toHaveLength(1);
    expect((await ok('events', '--city', 'alpha', '--since', '5m', '--type', 'demo.nothing')).stdout).toBe('');
  });

  it('lists the supervisor with the city on every line, and takes its own cursor back', async () => {
    const cursor = (await ok('events', '--no-city', '--seq')).stdout.trim();
    expect(cursor).toMatch(/__supervisor__:\d+/);
    await emit('demo.tagged');
    const listed = rows(await ok('events', '--no-city', '--after-cursor', cursor));
    expect(listed.map((e) => [e.city, e.type])).toEqual([['alpha', 'demo.tagged']]);
    fits('supervisorListLine', listed);
    const all = rows(await ok('events', '--no-city', '--since', '1h'));
    fits('supervisorListLine', all);
    expect(all.map((e) => e.type)).toEqual(expect.arrayContaining(['city.created', 'request.result.city.create', 'demo.tagged']));
    expect(all.map((e) => Date.parse(e.ts as string))).toEqual(all.map((e) => Date.parse(e.ts as string)).sort((a, b) => a - b));
  });

  it('follows a city at another replica until Ctrl-C, without heartbeats', async () => {
    const before = await head();
    const following = startSvc(['events', '--follow', '--after', before, '--type', 'demo.followed'], {
      env: { SVC_API_URL: stack.urls[1]!, SVC_CITY: 'alpha' },
    });
    await emit('demo.followed', { n: 1 });
    await emit('demo.left_out');
    await emit('demo.followed', { n: 2 });
    await following.untilOut(/"n": ?2/);
    const beside = await openStream(`${stack.urls[1]}/v0/city/alpha/events/stream`);
    await beside.untilAll((frames) => frames.filter(({ event }) => event === 'heartbeat').length > 2);
    await beside.close();
    following.interrupt();
    const ended = await following.exited;
    expect([ended.code, ended.stderr]).toEqual([130, '']);
    expect(rows(ended).map((e) => (e.payload as { n: number }).n)).toEqual([1, 2]);
    fits('cityStreamLine', rows(ended));
  });

  it('follows the supervisor over a replica that goes away and comes back', async () => {
    const cursor = (await ok('events', '--no-city', '--seq')).stdout.trim();
    const extra = await stack.add('api');
    const port = new URL(extra.url).port;
    const following = startSvc(['events', '--follow', '--after-cursor', cursor, '--type', 'demo.survives'], {
      env: { SVC_API_URL: extra.url },
    });
    await emit('demo.survives', { n: 1 });
    await following.untilOut(/"n": ?1/);
    await extra.stop();
    await emit('demo.survives', { n: 2 });
    await stack.add('api', { port: Number(port) });
    await emit('demo.survives', { n: 3 });
    await following.untilOut(/"n": ?3/);
    following.interrupt();
    const ended = rows(await following.exited);
    expect(ended.map((e) => (e.payload as { n: number }).n)).toEqual([1, 2, 3]);
    fits('supervisorStreamLine', ended);
  });

  it('watches for a match, and says when none came in time', async () => {
    const watching = startSvc(['events', '--watch', '--city', 'alpha', '--payload-match', 'n=7', '--after', await head()], {
      env: { SVC_API_URL: stack.urls[1]! },
    });
    await emit('demo.watched', { n: 6 });
    await emit('demo.watched', { n: 7 });
    const seen = await watching.exited;
    expect([seen.code, rows(seen).map((e) => (e.payload as { n: number }).n)]).toEqual([0, [7]]);
    const never = ['events', '--watch', '--city', 'alpha', '--type', 'demo.never', '--timeout', '2s'];
    const stderr = 'svc events: no matching event came within 2.0s\n';
    expect(await run(...never)).toEqual({ code: 0, stdout: '', stderr });
    expect(await run(...never, '--fail-on-timeout')).toEqual({ code: 124, stdout: '', stderr });
  });

  it('says in one line what the API refuses', async () => {
    const refused = await run('events', '--no-city', '--after-cursor', 'nonsense');
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toMatch(/^svc events: invalid_cursor: .*\n$/);
    const reserved = await run('event', 'emit', 'request.failed', '--city', 'alpha');
    expect([reserved.code, reserved.stderr]).toEqual([4, expect.stringContaining('svc event emit: ')]);
  });

  it('rotates', async () => {
    expect(rows(await ok('events', 'rotate', '--city', 'alpha', '--wait'))).toEqual([expect.objectContaining({ rotated: true })]);
    const none = await run('events', 'rotate', '--city', 'nowhere');
    expect([none.code, none.stderr]).toEqual([1, 'svc events rotate: city nowhere was not found or is not running\n']);
  });
});

/** All else runs in the process of the tests, by way of what `main.ts` calls. */
describe('svc as a process', () => {
  const spawned = (args: readonly string[], options: CliOptions = {}): ReturnType<typeof spawnSvc> =>
    spawnSvc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' }, ...options });

  it('ends with its exit code, with data and what is wrong on channels of their own, as it does in a process of others', async () => {
    const env = { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' };
    for (const [args, code] of [
      [['city', 'list', '--json'], 0],
      [['city', 'create', 'alpha', '--provider', 'loopback'], 4],
      [['--help'], 0],
      [['events', '--bogus'], 2],
    ] as const) {
      const [real, inner] = await Promise.all([spawned(args).exited, svc(args, { env })]);
      expect([args, real]).toEqual([args, inner]);
      expect([args, real.code, real.stdout !== '', real.stderr === '']).toEqual([args, code, code === 0, code === 0]);
    }
  });

  it('reads stdin to its end', async () => {
    const made = await spawned(['bead', 'create', 'Piped', '--description-file', '-', '--json'], { input: 'one\ntwo\n' }).exited;
    expect([made.code, rows(made)]).toEqual([0, [expect.objectContaining({ description: 'one\ntwo\n' })]]);
  });

  it('ends with 130 at Ctrl-C', async () => {
    const following = spawned(['events', '--follow', '--after', '0']);
    await following.untilOut(/\n/);
    following.interrupt();
    expect(await following.exited).toMatchObject({ code: 130, stderr: '' });
  });

  it('ends well when nobody reads any more', async () => {
    const following = spawned(['events', '--follow', '--after', '0']);
    await following.untilOut(/\n/);
    following.child.stdout!.destroy();
    const state = { over: false };
    const ended = following.exited.finally(() => (state.over = true));
    while (!state.over) await emit('demo.unread');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('svc health', () => {
  it('tells that the supervisor answers', async () => {
    expect((await ok('health')).stdout).toMatch(/^status: +ok\naddress: +http/);
  });
});

describe('the line schema', () => {
  it('is served and refers to the document beside it', async () => {
    const reply = await api(stack.urls[0]!).get('/schemas/events.json');
    expect([reply.status, reply.body.$defs.cityListLine.$ref]).toEqual([
      200,
      '../openapi.json#/components/schemas/TypedEventStreamEnvelope',
    ]);
  });
});
