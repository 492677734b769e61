import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { patience } from '../support/sessions-city.js';
import { eventually } from '../support/sse.js';
import { endSoon } from '../support/stack-timings.js';

/** Real processes on a machine that may have much else to do. */

let stack: Stack;
let a: Api;
let b: Api;

beforeAll(async () => {
  stack = await startStack({ workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'town', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const path = (rest: string): string => `/v0/city/town/${rest}`;
const session = async (id: string, at = b): Promise<any> => (await at.get(path(`session/${id}`))).body;
const verb = (id: string, name: string, at = a): Promise<Reply> => at.post(path(`session/${id}/${name}`));
const ended = async (request: string): Promise<any> => {
  let found: any;
  await eventually(async () => {
    const { items } = (await b.get(path('events?after_seq=0&limit=1000'))).body as { items: any[] };
    found = items.find(({ type, payload }) => String(type).startsWith('request.') && payload.request_id === request);
    return found !== undefined;
  });
  return found;
};
const reaches = async (id: string, state: string): Promise<void> => {
  const there = async (): Promise<boolean> => (await session(id)).state === state;
  await eventually(there).catch(async () => expect(await session(id)).toMatchObject({ state }));
};
const make = async (body: object = {}): Promise<string> => {
  const reply = await a.post(path('sessions'), { kind: 'provider', name: 'loopback', ...body });
  expect(reply).toMatchObject({ status: 202 });
  const end = await ended(reply.body.request_id as string);
  expect(end).toMatchObject({ type: 'request.result.session.create', subject: reply.body.session_id });
  return reply.body.session_id as string;
};
const say = async (id: string, message: string): Promise<void> => {
  const reply = await a.post(path(`session/${id}/messages`), { message });
  expect(reply).toMatchObject({ status: 202 });
  expect((await ended(reply.body.request_id as string)).type).toBe('request.result.session.message');
};
const idle = (id: string): Promise<unknown> => eventually(async () => (await session(id)).activity === 'idle');
const runs = (id: string): Promise<unknown> => eventually(async () => (await session(id)).running === true);
const generation = async (id: string): Promise<number> =>
  Number((await adminAt<{ generation: string }>(stack.databaseUrl, 'select generation from sessions where id = $1', [id]))[0]!.generation);

describe('sessions with real processes', () => {
  it('are made, said something, and show it', async () => {
    const id = await make({ message: 'hello there' });
    await idle(id);
    const body = (await a.get(path(`session/${id}?peek=true`))).body;
    expect(body).toMatchObject({
      state: 'active',
      running: true,
      title: 'hello there',
      options: { permission_mode: expect.any(String) },
    });
    expect(body.last_output).toContain('hello there');
    expect(body.last_active).toEqual(expect.any(String));
    const counted = await Promise.all(stack.workerUrls.map(async (url) => (await api(url).get('/metrics')).text));
    expect(counted.join('\n')).toMatch(/^svc_operations_finished_total\{.*kind="session\.create".*outcome="succeeded".*\} [1-9]/m);
    expect(await verb(id, 'close')).toMatchObject({ status: 200 });
    expect(await session(id)).toMatchObject({ state: 'closed', running: false });
  });

  it('stop a turn and keep the process', async () => {
    const id = await make();
    await say(id, 'work 60000');
    expect((await session(id)).activity).toBe('in-turn');
    expect(await verb(id, 'stop')).toMatchObject({ status: 200 });
    await idle(id);
    expect(await session(id)).toMatchObject({ state: 'active', running: true });
    expect(await generation(id)).toBe(1);
    await verb(id, 'close');
  });

  it('are killed and stay down, are woken, parked, and given a fresh conversation', async () => {
    const id = await make({ message: 'one' });
    await idle(id);
    expect(await verb(id, 'kill', b)).toMatchObject({ status: 200 });
    expect(await session(id)).toMatchObject({ state: 'asleep', running: false, reason: 'killed' });
    expect(await verb(id, 'wake')).toMatchObject({ status: 200, body: { decision: 'wanted' } });
    await runs(id);
    expect(await generation(id)).toBe(2);
    expect(await session(id)).not.toHaveProperty('reason');
    expect(await verb(id, 'suspend', b)).toMatchObject({ status: 200 });
    expect(await session(id)).toMatchObject({ state: 'suspended', running: false, reason: 'user-hold' });
    expect(await verb(id, 'reset')).toMatchObject({ status: 200 });
    expect(await session(id)).toMatchObject({ state: 'suspended' });
    await verb(id, 'wake');
    await runs(id);
    const [{ epoch }] = (await adminAt<{ epoch: number }>(stack.databaseUrl, 'select epoch from sessions where id = $1', [id])) as [
      { epoch: number },
    ];
    expect(epoch).toBe(2);
    expect(await verb(id, 'reset', b)).toMatchObject({ status: 200 });
    await eventually(async () => (await generation(id)) === 4 && (await session(id)).running === true);
    expect(await verb(id, 'close')).toMatchObject({ status: 200 });
  });

  it('take another permission mode while they run, and keep it', async () => {
    const id = await make();
    const reply = await a.post(path(`session/${id}/permission-mode`), { permission_mode: 'deny' });
    expect(reply).toMatchObject({ status: 200, body: { applied: 'live', options: { permission_mode: 'deny' } } });
    // It is no reason to start it again.
    expect((await a.get(path('sessions/drift'))).body).toMatchObject({ items: [], total: 0 });
    expect((await a.post(path(`session/${id}/permission-mode`), { permission_mode: 'whatever' })).status).toBe(400);
    await verb(id, 'kill');
    expect((await a.post(path(`session/${id}/permission-mode`), { permission_mode: 'allow' })).body).toMatchObject({ applied: 'stored' });
    await verb(id, 'wake');
    await runs(id);
    expect((await session(id)).options.permission_mode).toBe('allow');
    await verb(id, 'close');
  });

  it('drain: the turn is finished, then they sleep', async () => {
    const id = await make({ options: { permission_mode: 'ask' } });
    await say(id, 'ask');
    await eventually(async () => (await b.get(path(`session/${id}/pending`))).body.pending !== undefined);
    expect(await verb(id, 'drain')).toMatchObject({ status: 200 });
    expect(await session(id)).toMatchObject({ state: 'draining', activity: 'in-turn', running: true });
    expect(await a.post(path(`session/${id}/respond`), { action: 'approve' })).toMatchObject({ status: 202 });
    await reaches(id, 'asleep');
    expect(await session(id)).toMatchObject({ reason: 'drained', running: false });
    await verb(id, 'close');
  });

  it('are closed in the middle of a turn that heeds nothing: in the end, whoever still waits', async () => {
    // Every step of the ladder is gone up, and soon over.
    endSoon(stack);
    const id = await make();
    await say(id, 'hang');
    const told = Promise.withResolvers<void>();
    for (const failpoints of stack.failpoints) failpoints.arm('runner.before_exit_recorded', () => told.promise);
    patience(stack, { confirmMs: 100 });
    const reply = await a.post(path(`session/${id}/close?delete=true`));
    expect(reply).toMatchObject({ status: 503, body: { code: 'service-unavailable' } });
    told.resolve();
    await eventually(async () => (await a.get(path(`session/${id}`))).status === 404);
  });

  it('are closed in the middle of a start: one end of the request, whichever it is', async () => {
    const reply = await a.post(path('sessions'), { kind: 'provider', name: 'loopback' });
    const id = reply.body.session_id as string;
    expect([200, 503]).toContain((await verb(id, 'close')).status);
    expect(['request.failed', 'request.result.session.create']).toContain((await ended(reply.body.request_id as string)).type);
    await reaches(id, 'closed');
  });
});
