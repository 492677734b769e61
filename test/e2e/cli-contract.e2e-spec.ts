import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, svc, type CliOptions, type CliRun } from '../support/cli.js';
import { api } from '../support/http.js';

/** What generated clients of the contract trip over, as `svc --json` and the events show it. */
let stack: Stack;

const run = (args: readonly string[], { env, ...options }: CliOptions = {}): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha', ...env }, ...options });
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
const json = async (...args: string[]): Promise<any> => JSON.parse(await ok(...args, '--json'));
const lines = (stdout: string): any[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const id = async (...args: string[]): Promise<string> => (await ok(...args)).trim();

beforeAll(async () => {
  stack = await startStack();
  const created = await run(['city', 'create', 'alpha', '--provider', 'loopback']);
  expect([created.code, created.stderr]).toEqual([0, expect.not.stringContaining('svc')]);
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
});

describe('times', () => {
  /** Every time in a text, by the names that times have. */
  const times = (text: string): string[] => [...text.matchAll(/"(?:ts|\w+_(?:at|until))":"([^"]+)"/g)].map((match) => match[1]!);

  it('end in Z, of beads, convoys, mail and their events', async () => {
    const bead = await id('bead', 'create', 'Timed', '--defer', '9999-12-31T23:59:59Z');
    const taken = await id('bead', 'create', 'Taken');
    await ok('bead', 'close', await id('bead', 'create', 'Closed'));
    const convoy = await id('convoy', 'create', 'Timed', bead);
    const message = await id('mail', 'send', 'mayor', '--subject', 'Timed', '--from', 'human');
    const told = [
      await ok('bead', 'show', bead, '--json'),
      await ok('bead', 'claim', taken, '--assignee', 'me', '--json'),
      await ok('bead', 'list', '--json'),
      await ok('convoy', 'show', convoy, '--json'),
      await ok('mail', 'show', message, '--json'),
      await ok('events', '--after', '0'),
    ];
    for (const text of told) {
      expect([text, times(text).length]).not.toEqual([text, 0]);
      for (const time of times(text)) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    }
    expect(JSON.parse(told[0]!)).toMatchObject({ defer_until: '9999-12-31T23:59:59Z' });
  });
});

describe('what a bead needs', () => {
  it('is told with it, as long as it has the edge', async () => {
    const [a, b, c] = [await id('bead', 'create', 'a'), await id('bead', 'create', 'b'), await id('bead', 'create', 'c')];
    const bead = await id('bead', 'create', 'Blocked', '--blocked-by', b, '--blocked-by', a);
    await ok('bead', 'dep', 'add', bead, c, '--type', 'related');
    expect(await json('bead', 'show', bead)).toMatchObject({ needs: [a, b], is_blocked: true });
    await ok('bead', 'close', a);
    const listed = lines(await ok('bead', 'list', '--json')).find((one) => one.id === bead);
    expect(listed).toMatchObject({ needs: [a, b], is_blocked: true });
    await ok('bead', 'close', b);
    expect(await json('bead', 'show', bead)).toMatchObject({ needs: [a, b], is_blocked: false });
    await ok('bead', 'dep', 'remove', bead, a, b);
    expect(await json('bead', 'show', bead)).not.toHaveProperty('needs');
    const created = lines(await ok('events', '--after', '0', '--type', 'bead.created')).find(({ subject }) => subject === bead);
    expect(created).toMatchObject({ payload: { bead: { needs: [a, b] } } });
  });
});

describe('the repository of a rig', () => {
  it('is an object or not there, and unknown to a reader who asked', async () => {
    await ok('rig', 'create', 'bare');
    expect(await json('rig', 'show', 'bare', '--git')).not.toHaveProperty('git');
    expect(await ok('rig', 'show', 'bare', '--git')).toMatch(/^git: +unknown$/m);
    expect(await ok('rig', 'show', 'bare')).not.toMatch(/^git:/m);
  });
});

describe('the events of a city that went', () => {
  let before: string;
  beforeAll(async () => {
    before = (await ok('events', '--no-city', '--seq')).trim();
  });
  const feed = async (...args: string[]): Promise<any[]> => lines(await ok('events', '--no-city', ...args));

  it('are listed, and what ends an operation comes after all that belongs to it', async () => {
    for (const args of [
      ['create', 'gone', '--provider', 'loopback'],
      ['stop', 'gone'],
      ['start', 'gone'],
      ['unregister', 'gone'],
    ])
      expect([args, (await run(['city', ...args])).code]).toEqual([args, 0]);
    const told = ['controller.stopped', 'city.unregister_requested', 'request.result.city.stop', 'request.result.city.unregister'];
    const order = (events: any[]): string[] => events.filter((e) => e.city === 'gone' && told.includes(e.type)).map(({ type }) => type);
    const wanted = [
      'controller.stopped',
      'request.result.city.stop',
      'city.unregister_requested',
      'controller.stopped',
      'request.result.city.unregister',
    ];
    expect(order(await feed())).toEqual(wanted);
    expect(order(await feed('--after-cursor', `${before},gone:0`))).toEqual(wanted);
    expect((await feed('--type', 'city.unregister_requested')).map(({ subject }) => subject)).toEqual(['gone']);
  });

  it('are told apart by their stream and seq, whatever they are about', async () => {
    const events = (await feed()).filter(({ city }) => city === 'gone');
    const ends = events.filter(({ type }) => type.startsWith('request.result.city.'));
    expect(new Set(ends.map(({ stream }) => stream))).toEqual(new Set(['__supervisor__']));
    expect(new Set(events.filter((e) => !ends.includes(e)).map(({ stream }) => stream))).toEqual(new Set(['gone']));
    expect(new Set(events.map(({ stream, seq }) => `${stream}:${seq}`)).size).toBe(events.length);
  });
});

describe('a log of more than a page', () => {
  it('is printed whole, oldest first', async () => {
    const event = { type: 'demo.ticked', actor: 'x' };
    await Promise.all(Array.from({ length: 600 }, (_, n) => api(stack.urls[n % 2]!).post('/v0/city/alpha/events', event)));
    const { code, stdout, stderr } = await run(['events', '--type', 'demo.ticked']);
    expect([code, stderr]).toEqual([0, '']);
    const seqs = lines(stdout).map(({ seq }) => seq as number);
    expect(seqs).toHaveLength(600);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  });
});

describe('what a rule refuses', () => {
  const city = '/v0/city/alpha';
  it.each<[string, string, object, string]>([
    ['an unknown provider', '/v0/city', { dir: 'x', provider: 'nobody' }, 'body.provider'],
    ['a directory that is none', '/v0/city', { dir: ' ', provider: 'loopback' }, 'body.dir'],
    ['a name of a city', '/v0/city', { dir: 'x', name: 'a b', provider: 'loopback' }, 'body.name'],
    ['a session of no kind', `${city}/sessions`, { kind: 'other', name: 'x' }, 'body.kind'],
    ['a session of nobody', `${city}/sessions`, { kind: 'agent', name: '' }, 'body.name'],
    ['an alias', `${city}/sessions`, { kind: 'agent', name: 'mayor', alias: 'human' }, 'body.alias'],
    ['a name of a rig', `${city}/rigs`, { name: 'a b' }, 'body.name'],
    ['a prefix of a rig', `${city}/rigs`, { name: 'web', prefix: '1' }, 'body.prefix'],
    ['an agent in a rig', `${city}/agents`, { name: 'x', provider: 'loopback', dir: 'web' }, 'body.dir'],
    ['a scope of an agent', `${city}/agents`, { name: 'x', provider: 'loopback', scope: 'other' }, 'body.scope'],
    ['a source of a pack', `${city}/packs`, { source: 'nowhere' }, 'body.source'],
    ['a provider without a command', `${city}/providers`, { name: 'x' }, 'body.command'],
    ['mail to nobody', `${city}/mail`, { to: 'nobody', subject: 'x' }, 'body.to'],
    ['work that is not there', `${city}/sling`, { bead: 'al-999', target: 'mayor' }, 'body.bead'],
    ['a duration', `${city}/events?since=soon`, {}, 'query.since'],
    ['a position', `${city}/events?after_seq=nothing`, {}, 'query.after_seq'],
    ['a page token', `${city}/beads?cursor=nothing`, {}, 'query.cursor'],
  ])('%s is told with its place', async (_what, path, body, location) => {
    const client = api(stack.urls[0]!);
    const reply = path.includes('?') ? await client.get(path) : await client.post(path, body);
    expect([400, 422]).toContain(reply.status);
    // Beside it there may be advice, which is about no member.
    const places = (reply.body.errors as { location: string }[]).filter((one) => one.location !== 'body.hint');
    expect(places).toEqual([expect.objectContaining({ location, message: expect.any(String) })]);
  });
});

describe('the services of a city', () => {
  it.each(['GET', 'POST', 'PUT', 'DELETE'])('%s answers a city that does not run by the words of the specification', async (method) => {
    const ask = (path: string): Promise<any> =>
      api(stack.urls[1]!).send(method, path, method === 'GET' ? undefined : 'any=thing', { 'Content-Type': 'text/plain' });
    for (const path of ['/v0/city/nowhere/svc/shop', '/v0/city/nowhere/svc/shop/a/b?x=1', '/v0/city/gone/svc/'])
      expect(await ask(path)).toMatchObject({
        status: 404,
        body: { code: 'city-not-found', detail: 'not_found: city not found or not running' },
      });
    expect(await ask('/v0/city/alpha/svc/shop')).toMatchObject({ status: 404, body: { detail: 'not_found: service route not found' } });
  });
});

describe('a session that is closed', () => {
  it('ends its stream, and has nothing for who comes back with the last position', async () => {
    const session = (await run(['session', 'create', 'mayor'])).stdout.trim();
    for (const args of [
      ['send', session, 'hello', '--wait'],
      ['close', session],
    ])
      expect([args, (await run(['session', ...args])).code]).toEqual([args, 0]);
    const path = `/v0/city/alpha/session/${session}/stream`;
    const first = await fetch(`${stack.urls[0]}${path}`);
    const last = [...(await first.text()).matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
    expect([first.status, last]).toEqual([200, expect.stringMatching(/^\d+$/)]);
    const client = api(stack.urls[1]!);
    expect(await client.get(path, { 'Last-Event-ID': last })).toMatchObject({ status: 204, text: '' });
    expect(await client.get(`${path}?after_cursor=${last}`)).toMatchObject({ status: 204, text: '' });
    expect((await run(['session', 'watch', session])).code).toBe(0);
  });
});
