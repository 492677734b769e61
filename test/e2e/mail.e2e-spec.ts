import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { adminAt, LOCK_TIMEOUT_MS } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { expectRefusal, type Refusal } from '../support/refusal.js';
import { openStream } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;

/** A running city with the rig `web`, the agents mayor, web/dog and core/dog, and the named session deacon. */
async function aCity(name: string): Promise<void> {
  const [row] = await adminAt<{ id: number }>(
    stack.databaseUrl,
    `with s as (insert into event_streams (name) values ($1) returning id)
     insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s returning stream_id as id`,
    [name],
  );
  await adminAt(
    stack.databaseUrl,
    `with r as (insert into rigs (stream_id, name, prefix) values ($1, '', 'ci'), ($1, 'web', 'we'))
     insert into agents (stream_id, name, base, rig, kind) values ($1, 'mayor', 'mayor', '', 'agent'), ($1, 'deacon', 'deacon', '', 'named_session'),
       ($1, 'web/dog', 'dog', 'web', 'agent'), ($1, 'core/dog', 'dog', 'core', 'agent')`,
    [row!.id],
  );
}

beforeAll(async () => {
  stack = await startStack({ workers: 0, lockTimeoutMs: LOCK_TIMEOUT_MS });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  for (const city of ['alpha', 'quiet', 'bad', 'waiting']) await aCity(city);
});
afterAll(() => stack?.stop());

const send = (city: string, body: object, headers = {}): Promise<Reply> =>
  a.post(`/v0/city/${city}/mail`, { to: 'mayor', subject: 'hello', ...body }, headers);
const ids = (reply: Reply): string[] => (reply.body.items as { id: string }[]).map(({ id }) => id);
async function events(
  city: string,
  after = 0,
): Promise<{ type: string; subject: string; actor: string; message?: string; payload: any }[]> {
  return (await b.get(`/v0/city/${city}/events?after_seq=${after}&limit=1000`)).body.items;
}

describe('mail of a city', () => {
  it('is sent, read, answered and archived, the same through every replica', async () => {
    const sent = await send('alpha', { from: 'deacon', body: 'text', cc: ['human'] });
    expect({ status: sent.status, index: sent.headers.get('x-svc-index') }).toEqual({ status: 201, index: '2' });
    const { id, thread_id } = sent.body as { id: string; thread_id: string };
    expect(sent.body).toMatchObject({ id: 'ci-1', to: 'mayor', from: 'deacon', cc: ['human'], read: false, rig: 'alpha' });
    const [first, copy] = await events('alpha');
    expect(first).toMatchObject({
      type: 'mail.sent',
      actor: 'deacon',
      subject: id,
      message: 'mayor',
      payload: { rig: 'alpha', message: sent.body },
    });
    expect(copy).toMatchObject({ type: 'mail.sent', actor: 'deacon', subject: 'ci-2', message: 'human' });

    expect((await b.get(`/v0/city/alpha/mail/${id}`)).body).toEqual(sent.body);
    expect((await b.get('/v0/city/alpha/mail?agent=mayor')).body).toEqual({ items: [sent.body], total: 1 });
    expect((await b.post(`/v0/city/alpha/mail/${id}/read`)).body).toEqual({ status: 'read' });
    expect((await a.post(`/v0/city/alpha/mail/${id}/read`)).body).toEqual({ status: 'read' });
    expect((await a.get('/v0/city/alpha/mail/count?agent=mayor')).body).toEqual({ total: 1, unread: 0 });
    expect((await a.post(`/v0/city/alpha/mail/${id}/mark-unread`)).body).toEqual({ status: 'unread' });

    const reply = await b.post(`/v0/city/alpha/mail/${id}/reply`, { from: 'mayor', body: 'well' });
    expect(reply.body).toMatchObject({ to: 'deacon', from: 'mayor', subject: 'Re: hello', reply_to: id, thread_id });
    for (const known of [thread_id, id, reply.body.id as string])
      expect(ids(await a.get(`/v0/city/alpha/mail/thread/${known}`))).toEqual(['ci-1', 'ci-2', 'ci-3']);
    const part = await a.get(`/v0/city/alpha/mail/thread/${id}?limit=2`);
    expect(part.body).toMatchObject({ total: 3, next_cursor: expect.any(String) });
    expect(ids(await a.get(`/v0/city/alpha/mail/thread/${id}?limit=2&cursor=${part.body.next_cursor}`))).toEqual(['ci-3']);

    for (const status of ['archived', 'archived']) expect((await a.post(`/v0/city/alpha/mail/${id}/archive`)).body).toEqual({ status });
    expect((await b.delete('/v0/city/alpha/mail/ci-2')).body).toEqual({ status: 'deleted' });
    expect((await b.delete('/v0/city/alpha/mail/ci-2')).body).toEqual({ status: 'deleted' });
    expect((await b.post('/v0/city/alpha/mail/ci-404/archive')).body).toEqual({ status: 'archived' });
    expect(ids(await b.get('/v0/city/alpha/mail?status=archived'))).toEqual(['ci-1']);
    expect(ids(await b.get('/v0/city/alpha/mail?status=all'))).toEqual(['ci-3']);
    expect(ids(await b.get(`/v0/city/alpha/mail/thread/${id}`))).toEqual(['ci-3']);
    expect((await events('alpha', 2)).map(({ type, subject, actor }) => `${type} ${subject} ${actor}`)).toEqual([
      'mail.marked_read ci-1 api',
      'mail.marked_unread ci-1 api',
      'mail.replied ci-3 mayor',
      'mail.archived ci-1 api',
      'mail.deleted ci-2 api',
    ]);
  });

  it('is listed in pages by mailbox, sender, thread, text and rig', async () => {
    const path = '/v0/city/quiet/mail';
    for (const to of ['mayor', 'dog', 'human', 'mayor', 'web/dog'])
      await send('quiet', { to, rig: 'web', from: to === 'human' ? 'someone' : 'deacon' });
    const all = ['ci-5', 'ci-4', 'ci-3', 'ci-2', 'ci-1'];
    expect((await a.get(`${path}?status=unread`)).headers.get('x-svc-index')).toBe('5');
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: Reply = await b.get(`${path}?limit=2&cursor=${cursor}`);
      expect(page.body.total).toBe(5);
      seen.push(...ids(page));
      cursor = page.body.next_cursor as string | undefined;
    }
    expect(seen).toEqual(all);
    expect(ids(await a.get(`${path}?agent=dog&rig=web`))).toEqual(['ci-5', 'ci-2']);
    expect(ids(await a.get(`${path}?agent=human`))).toEqual(['ci-3']);
    expect(ids(await a.get(`${path}?agent=nobody`))).toEqual([]);
    expect(ids(await a.get(`${path}?from=someone`))).toEqual(['ci-3']);
    expect(ids(await a.get(`${path}?from=deacon&text=HELL`))).toEqual(['ci-5', 'ci-4', 'ci-2', 'ci-1']);
    expect(ids(await a.get(`${path}?thread=ci-4`))).toEqual(['ci-4']);
    expect(ids(await a.get(`${path}?rig=quiet`))).toEqual(all);
    expect((await a.get(`${path}?rig=nowhere`)).body).toEqual({ items: [], total: 0 });
    expect((await a.get(`${path}/count?rig=nowhere`)).body).toEqual({ total: 0, unread: 0 });
    expect((await a.get(`${path}/count?rig=web`)).body).toEqual({ total: 5, unread: 5 });
    expect((await a.get(`${path}/thread/unknown`)).body).toEqual({ items: [], total: 0 });
    expect((await a.get(`${path}/ci-1`)).body.rig).toBe('web');
  });

  it('waits for news when a read asks for it', async () => {
    const path = '/v0/city/waiting/mail?index=0&wait=20s';
    const waiting = b.get(path);
    await send('waiting', { body: 'news' });
    expect((await waiting).body).toMatchObject({ total: 1 });
    expect((await b.get('/v0/city/waiting/mail?index=99&wait=10ms')).body).toMatchObject({ total: 1 });
    const stream = await openStream(`${stack.urls[1]}/v0/city/waiting/events/stream?after_seq=0`);
    expect((await stream.until((frame) => frame.data?.type === 'mail.sent')).data).toMatchObject({
      message: 'mayor',
      subject: 'ci-1',
      actor: 'api',
    });
    await stream.close();
  });

  it('keeps unread mail for ever unless the city says otherwise', async () => {
    const path = '/v0/city/quiet/mail/settings';
    expect((await a.get(path)).body).toEqual({ unread_retention: null });
    expect((await a.send('PUT', path, { unread_retention: '36h30m' })).body).toEqual({ unread_retention: '36h30m' });
    expect((await b.get(path)).body).toEqual({ unread_retention: '36h30m' });
    expect((await b.send('PUT', path, { unread_retention: null })).body).toEqual({ unread_retention: null });
    for (const wrong of ['1s', '10', 'soon', '', '100000h', 5, undefined]) {
      const reply = await b.send('PUT', path, { unread_retention: wrong });
      expectRefusal(reply, path, { status: 422, detail: 'validation_failed: validation failed', fields: ['body.unread_retention'] });
    }
  });
});

describe('a refusal', () => {
  const mail = '/v0/city/bad/mail';
  const invalid = (...fields: string[]): Refusal => ({ status: 422, detail: 'validation_failed: validation failed', fields });
  const notFound = (what: string): Refusal => ({ status: 404, detail: `not_found: ${what} not found` });
  const gone = notFound('message ci-9');
  const city: Refusal = { status: 404, detail: 'not_found: city not found or not running: nowhere' };
  const long = 'x'.repeat(501);
  const ROWS: readonly [string, string, unknown, Refusal][] = [
    [
      'GET',
      `${mail}?status=closed`,
      undefined,
      { status: 400, detail: 'invalid: unsupported status filter: closed; supported: unread, all, archived' },
    ],
    ['GET', `${mail}?agent=dog`, undefined, { status: 400, detail: 'invalid: "dog" is ambiguous: core/dog, web/dog' }],
    ['GET', `${mail}/count?agent=dog`, undefined, { status: 400, detail: 'invalid: "dog" is ambiguous: core/dog, web/dog' }],
    [
      'GET',
      `${mail}?cursor=v1:AAAA`,
      undefined,
      { status: 400, detail: 'invalid_cursor: cursor is not a valid pagination token; re-fetch the first page' },
    ],
    ['GET', `${mail}/thread/x?cursor=25`, undefined, { status: 400, detail: 'invalid_cursor: …' }],
    ['GET', `${mail}?limit=1001`, undefined, invalid('query.limit')],
    ['GET', `${mail}?limit=-1`, undefined, invalid('query.limit')],
    ['GET', `${mail}?index=soon`, undefined, invalid('query.index')],
    ['GET', `${mail}?wait=0s&index=0`, undefined, invalid('query.wait')],
    ['GET', `${mail}?agents=x`, undefined, invalid('query.agents')],
    ['GET', `${mail}/count?status=all`, undefined, invalid('query.status')],
    ['GET', `${mail}?text=%00`, undefined, invalid('query')],
    ['GET', `${mail}?text=%ED%A0%80`, undefined, { status: 400, detail: 'bad_request: …' }],
    ['GET', `${mail}/ci-9`, undefined, gone],
    ['GET', `${mail}/ci-1?rig=nowhere`, undefined, notFound('rig nowhere')],
    ['GET', '/v0/city/nowhere/mail', undefined, city],
    ['GET', '/v0/city/nowhere/mail/settings', undefined, city],
    ['POST', '/v0/city/nowhere/mail', { to: 'human', subject: 's' }, city],
    ['POST', `${mail}/ci-9/read`, undefined, gone],
    ['POST', `${mail}/ci-9/mark-unread`, undefined, gone],
    ['POST', `${mail}/ci-9/reply`, {}, gone],
    ['POST', `${mail}/ci-1/read?rig=nowhere`, undefined, notFound('rig nowhere')],
    ['POST', `${mail}/ci-1/archive?rig=nowhere`, undefined, notFound('rig nowhere')],
    ['POST', `${mail}/ci-1/reply?rig=nowhere`, {}, notFound('rig nowhere')],
    ['DELETE', `${mail}/ci-1?rig=nowhere`, undefined, notFound('rig nowhere')],
    ['DELETE', `${mail}/ci-1?all=true`, undefined, invalid('query.all')],
    [
      'POST',
      `${mail}/ci-1/reply`,
      {},
      { status: 409, detail: 'conflict: message ci-1 cannot be answered: its sender "a passer-by" has no mailbox' },
    ],
    ['POST', `${mail}/ci-1/reply`, { subject: long }, invalid('body.subject')],
    ['POST', `${mail}/ci-1/reply`, { to: 'mayor' }, invalid('body.to')],
    ['POST', mail, {}, invalid('body.subject', 'body.to')],
    ['POST', mail, { to: '', subject: '' }, invalid('body.subject', 'body.to')],
    ['POST', mail, { to: 'mayor', subject: '  ' }, invalid('body.subject')],
    ['POST', mail, { to: 'mayor', subject: long }, invalid('body.subject')],
    ['POST', mail, { to: 'mayor', subject: 's', body: 'ü'.repeat(140_000) }, invalid('body.body')],
    ['POST', mail, { to: 'mayor', subject: 's', body: 'nul \0' }, invalid('body.body')],
    ['POST', mail, { to: 'mayor', subject: 'half \ud800' }, invalid('body.subject')],
    ['POST', mail, { to: 'mayor', subject: 's', priority: 5 }, invalid('body.priority')],
    ['POST', mail, { to: 'mayor', subject: 's', cc: 'human' }, invalid('body.cc')],
    ['POST', mail, { to: 'mayor', subject: 's', cc: Array(1001).fill('human') }, invalid('body.cc')],
    ['POST', mail, { to: 'mayor', subject: 's', thread_id: 't' }, invalid('body.thread_id')],
    ['POST', mail, { to: 'mayor', subject: 's', rig: 'nowhere' }, notFound('rig nowhere')],
    ['POST', mail, { to: 'nobody', subject: 's' }, { status: 400, detail: 'invalid: unknown recipient "nobody"' }],
    ['POST', mail, { to: 'mayor', subject: 's', cc: ['dog'] }, { status: 400, detail: 'invalid: "dog" is ambiguous: core/dog, web/dog' }],
    ['POST', mail, '{', { status: 400, detail: 'validation_failed: the request body is not valid JSON' }],
    ['POST', `${mail}/broadcast`, { subject: 's', to: [] }, { status: 400, detail: 'invalid: there is nobody to send this to' }],
    [
      'POST',
      `${mail}/broadcast`,
      { subject: 's', to: ['human', 'nobody'] },
      { status: 400, detail: 'invalid: unknown recipient "nobody"' },
    ],
    ['POST', `${mail}/broadcast`, { to: ['human'] }, invalid('body.subject')],
    ['PUT', `${mail}/settings`, {}, invalid('body.unread_retention')],
  ];

  it('says why, by status, code and field, and changes nothing', async () => {
    await send('bad', { body: 'kept', from: 'a passer-by' });
    const look = (): Promise<unknown> =>
      adminAt(
        stack.databaseUrl,
        `select (select json_agg(m order by id) from messages m) as mail, (select json_agg(s order by id) from event_streams s) as streams,
        (select json_agg(s) from mail_settings s) as settings, (select count(*)::int from idempotency_keys) as answers, (select json_agg(c order by stream_id, prefix) from bead_counters c) as ids`,
      );
    const before = await look();
    for (const [i, [method, path, body, refusal]] of ROWS.entries()) {
      const key = method === 'POST' ? { 'Idempotency-Key': `row-${i}` } : {};
      expectRefusal(await (i % 2 === 0 ? a : b).send(method, path, body, key), path, refusal);
    }
    expect(await look()).toEqual(before);
  });

  it('meets a message that was archived or deleted, by its id', async () => {
    for (const [how, path] of [
      ['POST', '/archive'],
      ['DELETE', ''],
    ] as const) {
      const { id } = (await send('bad', { from: 'deacon' })).body as { id: string };
      await a.send(how, `${mail}/${id}${path}`);
      const refusal = notFound(`message ${id}`);
      expectRefusal(await b.get(`${mail}/${id}`), `${mail}/${id}`, refusal);
      for (const action of ['read', 'mark-unread', 'reply'])
        expectRefusal(await b.post(`${mail}/${id}/${action}`, action === 'reply' ? {} : undefined), `${mail}/${id}/${action}`, refusal);
    }
  });

  it('of a key that is used with another body', async () => {
    const key = { 'Idempotency-Key': 'one' };
    expect((await send('bad', {}, key)).status).toBe(201);
    expectRefusal(await send('bad', { body: 'other' }, key), mail, { status: 422, detail: /^idempotency_mismatch: / });
    expectRefusal(await send('bad', {}, { 'Idempotency-Key': 'a b' }), mail, invalid('header.Idempotency-Key'));
  });

  it('comes soon when somebody else keeps the city from working', async () => {
    const holder = new pg.Client({ connectionString: stack.databaseUrl });
    await holder.connect();
    try {
      await holder.query(`select pg_advisory_lock(2, stream_id) from cities where name = 'bad'`);
      const reply = await send('bad', {});
      expectRefusal(reply, mail, { status: 503, detail: /^unavailable: / });
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await holder.end();
    }
  });
});
