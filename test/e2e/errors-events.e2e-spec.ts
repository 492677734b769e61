import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';

/** Every refusal of the event operations: its words, and that nothing is different after it. */
let stack: Stack;
let a: Api;
let b: Api;
let witness: Witness;

const INVALID = 'validation_failed: validation failed';

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  for (const dir of ['alpha', 'worn']) expect((await a.post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await a.get('/v0/events?type=request.result.city.create')).body.total === 2);
  // Retention has removed the beginning of this city's log.
  for (let i = 0; i < 5; i++) await a.post('/v0/city/worn/events', { type: 'note.taken', actor: 'x' });
  await adminAt(stack.databaseUrl, "update event_streams set floor = 4 where name = 'worn'");
  await adminAt(stack.databaseUrl, "delete from events where stream_id = (select id from event_streams where name = 'worn') and seq <= 4");
  witness = await watchState(stack);
});
afterAll(async () => {
  await witness.close();
  await stack.stop();
});

type Row = [method: string, path: string, body: unknown, status: number, detail: string | RegExp, fields?: string[]];

const refuses = ([method, path, body, status, detail, fields]: Row): void => {
  const shown = JSON.stringify(body) ?? '';
  it(`${method} ${path} ${shown.length > 90 ? `${shown.slice(0, 90)}…` : shown} -> ${status} ${String(detail)}`, async () => {
    const reply = await witness.unchangedBy(() => a.send(method, path, body));
    expectRefusal(reply, path, { status, detail, ...(fields === undefined ? {} : { fields }) });
  });
};

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
    ['GET', `${list}?after_seq=1000000`, undefined, 410, 'cursor_ahead: after_seq is ahead of the log: …'],
    ['GET', `${list}/stream?after_seq=1000000`, undefined, 410, 'cursor_ahead: after_seq is ahead of the log: …'],
    ['GET', '/v0/events?after_cursor=alpha:1000000', undefined, 410, 'cursor_ahead: after_cursor is ahead of the log: …'],
    ['GET', '/v0/events/stream?after_cursor=alpha:1000000', undefined, 410, 'cursor_ahead: after_cursor is ahead of the log: …'],
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
    const wanted =
      id === '1000000'
        ? { status: 410, detail: 'cursor_ahead: Last-Event-ID …' }
        : { status: 400, detail: 'invalid_cursor: Last-Event-ID …' };
    expectRefusal(reply, path, wanted);
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

function b64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
