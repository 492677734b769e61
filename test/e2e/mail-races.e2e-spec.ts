import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { eventually } from '../support/sse.js';

const AGENTS = 12;

let stack: Stack;
let replicas: Api[];
let city: string;
let made = 0;

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  replicas = stack.urls.map((url) => api(url));
});
afterEach(() => {
  for (const failpoints of stack.failpoints) failpoints.disarm();
});
afterAll(() => stack?.stop());

beforeEach(async () => {
  city = `city-${++made}`;
  await adminAt(
    stack.databaseUrl,
    `with s as (insert into event_streams (name) values ($1) returning id),
       c as (insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s),
       r as (insert into rigs (stream_id, name, prefix) select id, '', 'ra' from s)
     insert into agents (stream_id, name, base, kind) select s.id, 'agent-' || n, 'agent-' || n, 'agent' from s, generate_series(1, ${AGENTS}) n`,
    [city],
  );
});

const at = (i: number): Api => replicas[i % replicas.length]!;
const path = (rest = ''): string => `/v0/city/${city}/mail${rest}`;
const items = (reply: Reply): { id: string; to: string; read: boolean; thread_id: string }[] => reply.body.items;
const eventsOf = async (): Promise<{ type: string; subject: string; actor: string }[]> =>
  (await at(1).get(`/v0/city/${city}/events?after_seq=0&limit=1000`)).body.items;

type State = 'unread' | 'read' | 'gone';

/** What the events say has become of every message. An event that changes nothing is an error. */
function replayed(events: readonly { type: string; subject: string }[]): Map<string, State> {
  const next: Record<string, [from: readonly (State | undefined)[], to: State]> = {
    'mail.sent': [[undefined], 'unread'],
    'mail.replied': [[undefined], 'unread'],
    'mail.marked_read': [['unread'], 'read'],
    'mail.marked_unread': [['read'], 'unread'],
    'mail.archived': [['unread', 'read'], 'gone'],
    'mail.deleted': [['unread', 'read'], 'gone'],
  };
  const states = new Map<string, State>();
  for (const { type, subject } of events) {
    const [from, to] = next[type]!;
    expect({ type, subject, from }).toMatchObject({ from: expect.arrayContaining([states.get(subject)]) });
    states.set(subject, to);
  }
  return states;
}

describe('two replicas', () => {
  // Guard: each change is decided and reported behind the lock of the city.
  it('change the same messages at once, and the events tell exactly what came of it', async () => {
    const sent = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        at(i).post(path(), { to: `agent-${1 + (i % 3)}`, subject: `m${i}`, from: 'agent-9', cc: ['human'] }),
      ),
    );
    const ids = items(await at(0).get(path('?limit=1000'))).map(({ id }) => id);
    expect(ids).toHaveLength(12);
    // Neighbours go to the same message through different replicas; the first eight messages lose theirs in the end.
    const toggles = ['read', 'read', 'mark-unread', 'mark-unread', 'reply', 'read', 'read', 'mark-unread'];
    const ends = ['archive', 'delete', 'read', 'archive'];
    const calls = ids.flatMap((id, n) => (n < 8 ? [...toggles, ...ends] : toggles).map((action) => ({ id, action })));
    const replies = await Promise.all(
      calls.map(({ id, action }, i) => {
        if (action === 'delete') return at(i).delete(path(`/${id}`));
        return at(i).post(path(`/${id}/${action}`), action === 'reply' ? { from: 'human' } : undefined);
      }),
    );
    const allowed = new Set([200, 201, 404, 503]);
    expect(replies.map(({ status }) => status).filter((status) => !allowed.has(status))).toEqual([]);

    const states = replayed(await eventsOf());
    const alive = [...states].filter(([, state]) => state !== 'gone').map(([id]) => id);
    const unread = alive.filter((id) => states.get(id) === 'unread');
    for (const replica of replicas) {
      const all = await replica.get(path('?status=all&limit=1000'));
      expect(new Map(items(all).map(({ id, read }) => [id, read ? 'read' : 'unread']))).toEqual(
        new Map([...states].filter(([, state]) => state !== 'gone')),
      );
      expect(all.body.total).toBe(alive.length);
      expect((await replica.get(path('?limit=1000'))).body.total).toBe(unread.length);
      expect((await replica.get(path('/count'))).body).toEqual({ total: alive.length, unread: unread.length });
      const threads = await Promise.all(sent.map(({ body }) => replica.get(path(`/thread/${body.thread_id as string}`))));
      expect(threads.map(({ body }) => body.total as number).reduce((x, y) => x + y)).toBe(alive.length);
    }
  });

  // Guard: the answer is stored under the key in the transaction of the message.
  it('send one message under one key', async () => {
    const body = { to: 'agent-1', subject: 'once', from: 'agent-2' };
    const post = (i: number): Promise<Reply> => at(i).post(path(), body, { 'Idempotency-Key': 'same' });
    const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => post(i)));
    for (const answer of answers) expect({ status: answer.status, body: answer.body }).toEqual({ status: 201, body: answers[0]!.body });
    const { id } = answers[0]!.body as { id: string };
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) => at(i).post(path(`/${id}/reply`), {}, { 'Idempotency-Key': 'same' })),
    );
    await at(0).post(path(`/${id}/archive`));
    expect((await at(1).post(path(`/${id}/reply`), {}, { 'Idempotency-Key': 'same' })).body).toEqual(replies[0]!.body);
    expect((await post(1)).body).toEqual(answers[0]!.body);
    expect((await eventsOf()).map(({ type }) => type)).toEqual(['mail.sent', 'mail.replied', 'mail.archived']);
  });

  // Guard: all messages of a broadcast and their events are one transaction.
  it('send a broadcast as a whole, or not at all', async () => {
    const totals = new Set<number>();
    let done = false;
    const watching = (async () => {
      while (!done) totals.add((await at(1).get(path('/count'))).body.total as number);
    })();
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) {
      // Armed for a whole request: transactions are not counted, since the replica's heartbeat commits some of its own.
      if (i % 2 === 1) stack.failpoints[0]!.disarm();
      else
        stack.failpoints[0]!.arm('tx.before_commit', () => {
          throw Object.assign(new Error('planted'), { code: 'ECONNRESET' });
        });
      statuses.push((await at(0).post(path('/broadcast'), { subject: `b${i}`, from: 'agent-1' })).status);
    }
    done = true;
    await watching;
    expect(statuses).toEqual([503, 201, 503, 201, 503, 201]);
    const whole = AGENTS - 1;
    expect([...totals].filter((total) => total % whole !== 0)).toEqual([]);
    expect((await at(1).get(path('/count'))).body).toEqual({ total: 3 * whole, unread: 3 * whole });
    expect(await eventsOf()).toHaveLength(3 * whole);
    const again = await Promise.all(
      Array.from({ length: 6 }, (_, i) => at(i + 1).post(path('/broadcast'), { subject: 'keyed' }, { 'Idempotency-Key': 'b' })),
    );
    for (const reply of again.filter(({ status }) => status === 201)) expect(reply.body.total).toBe(AGENTS);
    expect((await eventsOf()).length - 3 * whole).toBe(AGENTS);
  });
});

describe('two workers', () => {
  it('sweep what was read long ago once between them', async () => {
    await at(0).post(path('/broadcast'), { subject: 'swept' });
    const ids = items(await at(0).get(path('?limit=1000'))).map(({ id }) => id);
    for (const id of ids.slice(2)) await at(0).post(path(`/${id}/read`));
    await adminAt(stack.databaseUrl, `update messages set read_at = read_at - interval '2 hours'`);
    // A worker sweeps as soon as it has started.
    await Promise.all([stack.add('worker'), stack.add('worker')]);
    await eventually(async () => (await at(1).get(path('/count'))).body.total === 2);
    const swept = (await eventsOf()).filter(({ type }) => type === 'mail.archived');
    expect(swept.map(({ subject }) => subject).sort()).toEqual(ids.slice(2).sort());
    expect(new Set(swept.map(({ actor }) => actor))).toEqual(new Set(['reconciler']));
    expect((await at(0).get(path(`/${ids[2]}`))).body).toMatchObject({ id: ids[2], read: true });
    expect((await at(0).get(path('?status=archived'))).body.total).toBe(AGENTS - 2);
  });
});
