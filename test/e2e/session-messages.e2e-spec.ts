import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;
const city = '/v0/city/alpha';

interface Told {
  readonly seq: number;
  readonly type: string;
  readonly payload: Record<string, unknown>;
}

beforeAll(async () => {
  stack = await startStack({ apis: 2, workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const terminals = async (requestId: string): Promise<Told[]> =>
  (await b.get(`${city}/events?after_seq=0&limit=1000&payload_match=request_id%3D${requestId}`)).body.items;
const accepted = (reply: Reply): string => {
  expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 202 });
  return reply.body.request_id as string;
};
/** The terminal event of a request, once it is there. */
const ended = async (reply: Reply | string): Promise<Told> => {
  const id = typeof reply === 'string' ? reply : accepted(reply);
  return eventually(async () => (await terminals(id))[0]);
};
const at = (id: string, step: string): string => `${city}/session/${id}/${step}`;
const session = async (message?: string): Promise<string> => {
  const end = await ended(
    await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', ...(message === undefined ? {} : { message }) }),
  );
  expect(end).toMatchObject({ type: 'request.result.session.create' });
  return (end.payload.session as { id: string }).id;
};
/** Everything that was said, in order. */
const said = async (id: string): Promise<string> => {
  const [row] = await adminAt<{ text: string | null }>(
    stack.databaseUrl,
    `select string_agg(e.blocks::text, ' ' order by e.seq) as text from session_entries e join sessions s on s.pk = e.session_pk where s.id = $1`,
    [id],
  );
  return row?.text ?? '';
};
const activity = async (id: string): Promise<string> => (await b.get(`${city}/session/${id}`)).body.activity as string;
const statuses = async (id: string): Promise<string[]> =>
  ((await b.get(at(id, 'messages'))).body.items as { status: string }[]).map(({ status }) => status).reverse();

describe('messages over HTTP', () => {
  it('are delivered in their order, whichever replica takes them, and end with one event each', async () => {
    const id = await session('hello');
    const sent = [];
    for (let i = 0; i < 6; i++) sent.push(accepted(await (i % 2 === 0 ? a : b).post(at(id, 'messages'), { message: `number ${i}` })));
    for (const request of sent) {
      expect(await ended(request)).toMatchObject({
        type: 'request.result.session.message',
        payload: { request_id: request, session_id: id },
      });
      expect(await terminals(request)).toHaveLength(1);
    }
    const text = await eventually(async () => {
      const now = await said(id);
      return now.includes('echo: number 5') && now;
    });
    const places = [0, 1, 2, 3, 4, 5].map((i) => text.indexOf(`echo: number ${i}`));
    expect(places).toEqual([...places].sort((x, y) => x - y));
    expect(places[0]).toBeGreaterThan(text.indexOf('echo: hello'));
    expect(await statuses(id)).toEqual(Array(7).fill('delivered'));
  });

  it('wait for the end of a turn, as follow-ups succeed at once, and can be taken back until then', async () => {
    const id = await session();
    await ended(await a.post(at(id, 'messages'), { message: 'work 60000' }));
    await eventually(async () => (await activity(id)) === 'in-turn');
    const plain = accepted(await b.post(at(id, 'submit'), { message: 'plain' }));
    expect(await ended(await a.post(at(id, 'submit'), { message: 'after', intent: 'follow_up' }))).toMatchObject({
      type: 'request.result.session.submit',
      payload: { session_id: id, queued: true, intent: 'follow_up' },
    });
    expect(await statuses(id)).toEqual(['delivered', 'queued', 'queued']);
    const [, waiting, delivered] = (await a.get(at(id, 'messages'))).body.items as { id: string }[];
    expect((await a.get(at(id, `messages/${waiting!.id}`))).body).toMatchObject({ message: 'plain', status: 'queued', request_id: plain });
    expect((await b.delete(at(id, `messages/${waiting!.id}`))).body).toEqual({ status: 'ok' });
    expect((await a.delete(at(id, `messages/${waiting!.id}`))).body).toEqual({ status: 'ok' });
    expect(await ended(plain)).toMatchObject({ type: 'request.failed', payload: { operation: 'session.submit', error_code: 'cancelled' } });
    const late = at(id, `messages/${delivered!.id}`);
    expectRefusal(await a.delete(late), late, { status: 409, detail: `conflict: message ${delivered!.id} is delivered already` });

    // Nothing but this intent ends a turn; what it brings goes before what waits.
    expect(await ended(await b.post(at(id, 'submit'), { message: 'at once', intent: 'interrupt_now' }))).toMatchObject({
      payload: { queued: false, intent: 'interrupt_now' },
    });
    const text = await eventually(async () => {
      const now = await said(id);
      return now.includes('echo: after') && now;
    });
    expect(text.indexOf('echo: at once')).toBeGreaterThan(0);
    expect(text.indexOf('echo: at once')).toBeLessThan(text.indexOf('echo: after'));
    expect(text).not.toContain('echo: plain');
  });

  it('wake a session that is suspended', async () => {
    const id = await session();
    expect((await a.post(at(id, 'suspend'))).status).toBe(200);
    expect((await b.get(`${city}/session/${id}`)).body).toMatchObject({ state: 'suspended', running: false });
    expect(await ended(await b.post(at(id, 'messages'), { message: 'history' }))).toMatchObject({ type: 'request.result.session.message' });
    expect((await b.get(`${city}/session/${id}`)).body).toMatchObject({ state: 'active', running: true });
  });

  it('are sent once under a key, at any replica', async () => {
    const id = await session();
    const key = { 'Idempotency-Key': `once-${id}` };
    const first = await a.post(at(id, 'messages'), { message: 'only once' }, key);
    await ended(first);
    expect((await b.post(at(id, 'messages'), { message: 'only once' }, key)).body).toEqual(first.body);
    expect(await statuses(id)).toEqual(['delivered']);
    const path = at(id, 'messages');
    expectRefusal(await b.post(path, { message: 'something else' }, key), path, { status: 422, detail: /^idempotency_mismatch: / });
  });

  it('are lost with their process at most, never sent again', async () => {
    const id = await session();
    const crash = await a.post(at(id, 'messages'), { message: 'crash 3' });
    const end = await ended(crash);
    expect(['request.result.session.message', 'request.failed']).toContain(end.type);
    expect(await ended(await b.post(at(id, 'messages'), { message: 'still there?' }))).toMatchObject({
      type: 'request.result.session.message',
    });
    expect(await terminals(crash.body.request_id as string)).toHaveLength(1);
    expect((await statuses(id))[0]).not.toBe('queued');
  });

  it('are refused with a reason', async () => {
    const id = await session();
    const bodies: [string, object, string[]][] = [
      ['messages', {}, ['body.message']],
      ['messages', { message: ' \n' }, ['body.message']],
      ['messages', { message: 'x', intent: 'default' }, ['body.intent']],
      ['submit', { message: 'x', intent: 'now' }, ['body.intent']],
      ['submit', { message: '' }, ['body.message', 'body.message']],
      ['respond', { action: '' }, ['body.action']],
      ['respond', { action: 'approve', metadata: { a: 1 } }, ['body.metadata.a']],
    ];
    for (const [step, body, fields] of bodies)
      expectRefusal(await a.post(at(id, step), body), at(id, step), {
        status: 422,
        detail: 'validation_failed: validation failed',
        fields,
      });
    const nobody = at('nobody', 'submit');
    expectRefusal(await a.post(nobody, { message: 'x' }), nobody, {
      status: 404,
      detail: 'not_found: session "nobody" not found and not a configured named session',
    });
    const queue = at(id, 'messages?status=odd');
    expectRefusal(await a.get(queue), at(id, 'messages'), {
      status: 422,
      detail: 'validation_failed: validation failed',
      fields: ['query.status'],
    });
    const missing = at(id, 'messages/msg-0');
    for (const reply of [await a.get(missing), await a.delete(missing)])
      expectRefusal(reply, missing, { status: 404, detail: `not_found: message msg-0 of session ${id} not found` });
    expectRefusal(await a.post(at(id, 'respond'), { action: 'approve' }), at(id, 'respond'), {
      status: 409,
      detail: `no_pending: session ${id} waits for no answer`,
    });
    expect((await a.post(at(id, 'close'))).status).toBe(200);
    for (const step of ['messages', 'submit'])
      expectRefusal(await b.post(at(id, step), { message: 'x' }), at(id, step), {
        status: 409,
        detail: `conflict: session ${id} is closed`,
      });
    expectRefusal(await b.get(at(id, 'pending')), at(id, 'pending'), { status: 409, detail: `conflict: session ${id} is closed` });
    expect(await statuses(id)).toEqual([]);
  });
});

describe('questions over HTTP', () => {
  const asking = async (): Promise<{ id: string; requestId: string }> => {
    const id = await session();
    await ended(await a.post(at(id, 'messages'), { message: 'ask' }));
    const requestId = await eventually(async () => (await b.get(at(id, 'pending'))).body.pending?.request_id as string | undefined);
    return { id, requestId };
  };

  it('are seen in the city and in the session, keep messages out, and are answered by one', async () => {
    const { id, requestId } = await asking();
    const inCity = (await b.get(`${city}/pending`)).body;
    expect(inCity.items).toEqual([expect.objectContaining({ session_id: id, request_id: requestId, template: 'loopback' })]);
    expect(inCity.total).toBe(1);
    for (const body of [{ message: 'x' }, { message: 'x', intent: 'follow_up' }, { message: 'x', intent: 'interrupt_now' }])
      expectRefusal(await a.post(at(id, 'submit'), body), at(id, 'submit'), {
        status: 409,
        detail: 'pending_interaction: session has a pending interaction',
      });
    expectRefusal(await a.post(at(id, 'respond'), { action: 'perhaps' }), at(id, 'respond'), {
      status: 400,
      detail: 'invalid: unknown action "perhaps"; allowed: …',
    });
    const answers = await Promise.all([a, b, a, b].map((by) => by.post(at(id, 'respond'), { action: 'approve', request_id: requestId })));
    expect(answers.map((reply) => reply.status).sort()).toEqual([202, 409, 409, 409]);
    expect(answers.find((reply) => reply.status === 202)!.body).toEqual({ status: 'accepted', id });
    await eventually(async () => (await said(id)).includes('chosen: '));
    expect((await a.get(at(id, 'pending'))).body).toEqual({ supported: true });
    expect((await a.get(`${city}/pending`)).body).toEqual({ items: [], total: 0 });
    const events = (await b.get(`${city}/events?after_seq=0&limit=1000&subject=${id}`)).body.items as Told[];
    expect(events.filter((e) => e.type.startsWith('session.interaction.')).map((e) => [e.type, e.payload.status])).toEqual([
      ['session.interaction.opened', 'open'],
      ['session.interaction.resolved', 'answered'],
    ]);
  });

  it('end with their process and with their turn', async () => {
    for (const step of ['suspend', 'stop']) {
      const { id, requestId } = await asking();
      expect((await b.post(at(id, step))).status).toBe(200);
      await eventually(async () => (await b.get(at(id, 'pending'))).body.pending === undefined);
      expectRefusal(await a.post(at(id, 'respond'), { action: 'approve', request_id: requestId }), at(id, 'respond'), {
        status: 409,
        detail: `no_pending: interaction ${requestId} was cancelled`,
      });
    }
  });
});
