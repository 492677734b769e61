import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { contract, type DocumentedOperation } from '../support/contract.js';
import { api, type Api } from '../support/http.js';
import { eventually } from '../support/sse.js';

/** What Swagger UI fills in is sent as it stands, in a city as a new user has it. */
let stack: Stack;
let a: Api;
const ids = new Map<string, string>();

/** The city of the examples is made before it is registered again. */
const WITH_BODY = contract()
  .operations.filter(({ definition }) => definition.requestBody !== undefined)
  .sort((one, other) => Number(other.path === '/v0/city') - Number(one.path === '/v0/city'));
/** The repository of an example is nowhere. */
const NOT_REACHED = 502;
const REFUSED_FOR_THE_BODY = [400, 413, 415, 422];

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1 });
  a = api(stack.urls[0]!);
  await a.post('/v0/city', { dir: 'al', provider: 'loopback' });
  await eventually(async () => (await a.get('/v0/city/al')).status === 200);
  const made = async (path: string, body: object): Promise<string> => (await a.post(`/v0/city/al/${path}`, body)).body.id;
  // The first two ids are those that examples name.
  for (const title of ['one', 'two']) expect(await made('beads', { title })).toMatch(/^al-[12]$/);
  ids.set('bead', await made('beads', { title: 'three' }));
  ids.set('convoy', await made('convoys', { title: 'all' }));
  ids.set('mail', await made('mail', { to: 'human', subject: 'hello', from: 'mayor' }));
  ids.set('keys', (await a.post('/v0/keys', { name: 'first' })).body.id);
  ids.set('session', (await a.post('/v0/city/al/sessions', { kind: 'agent', name: 'mayor', alias: 'first' })).body.session_id);
  await eventually(async () => (await a.get(`/v0/city/al/session/${ids.get('session')}`)).body.state === 'active');
  ids.set('wait', await made('waits', { session: ids.get('session')!, kind: 'manual' }));
  await a.post('/v0/city/al/rigs', { name: 'old' });
});
afterAll(() => stack?.stop());

it.each(WITH_BODY.map((operation): [string, DocumentedOperation] => [`${operation.method} ${operation.path}`, operation]))(
  '%s takes its example',
  async (_name, { method, path, definition }) => {
    const [[type, { example }]] = Object.entries(definition.requestBody!.content) as unknown as [[string, { example: object | string }]];
    const target = path
      .replace('{cityName}', 'al')
      .replace('{id}', ids.get(path.split('/{id}')[0]!.split('/').pop()!) ?? 'nobody')
      .replace('{dir}', 'old')
      .replace('{base}', 'mayor')
      .replace('{name}', path.includes('/rig/') ? 'old' : path.includes('/formulas/') ? 'greet' : 'loopback');
    const reply = await a.send(method, target, example, { 'Content-Type': type });
    const taken = !REFUSED_FOR_THE_BODY.includes(reply.status) && (reply.status < 500 || reply.status === NOT_REACHED);
    expect({ target, example, taken, ...(taken ? {} : { status: reply.status, body: reply.body }) }).toEqual({
      target,
      example,
      taken: true,
    });
  },
);
