import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { ProblemError } from '../../../contract/problems.js';
import type { SessionRow } from '../session-store/session-row.js';
import { QUEUE_BYTES, QUEUE_LIMIT } from './message-gate.js';
import type { MessageIntent } from './message-row.js';
import { MessagesQuery } from './messages.schemas.js';
import { sessionFixture, type SessionFixture } from './testing/session-fixture.js';

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(ProblemError);
  return `${(error as ProblemError).kind.status} ${(error as ProblemError).detail}`;
};
const inTurn = (pk: number): Promise<unknown> =>
  sql`update session_logs set activity = 'in-turn' where session_pk = ${pk}`.execute(fixture.db);
const ask = async (session: SessionRow): Promise<void> => {
  await fixture.within(session.pk, (changes, row) =>
    fixture.a.interactions.open(changes, row, { requestId: 'q', kind: 'approval', prompt: 'May I?', options: [] }),
  );
};
const soon = (): Date => new Date(Date.now() + 60_000);

type How = 'queued at once' | 'on delivery' | RegExp;
interface Cell {
  readonly column: string;
  readonly make: () => Promise<SessionRow>;
  readonly wakes: boolean;
  readonly intents: Record<MessageIntent, How>;
}
const refused = (why: RegExp): Record<MessageIntent, How> => ({ default: why, follow_up: why, interrupt_now: why });
const delivered: Record<MessageIntent, How> = { default: 'on delivery', follow_up: 'on delivery', interrupt_now: 'on delivery' };

const CELLS: readonly Cell[] = [
  ...['start-pending', 'creating'].map((state) => ({
    column: state,
    make: () => fixture.session(state),
    wakes: state === 'start-pending',
    intents: { ...delivered, default: 'queued at once' as const },
  })),
  ...['asleep', 'suspended', 'failed-create', 'archived'].map((state) => ({
    column: state,
    make: () => fixture.session(state),
    wakes: true,
    intents: delivered,
  })),
  { column: 'running and idle', make: () => fixture.session(), wakes: false, intents: delivered },
  {
    column: 'running, in a turn',
    make: async () => {
      const session = await fixture.session();
      await inTurn(session.pk);
      return session;
    },
    wakes: false,
    intents: { ...delivered, follow_up: 'queued at once' },
  },
  {
    column: 'interaction pending',
    make: async () => {
      const session = await fixture.session();
      await ask(session);
      return session;
    },
    wakes: false,
    intents: refused(/^409 pending_interaction: session has a pending interaction$/),
  },
  {
    column: 'draining: comes back for it',
    make: () => fixture.session('draining', { stop_request: 'drain' }),
    wakes: true,
    intents: delivered,
  },
  { column: 'closed', make: () => fixture.session('closed'), wakes: false, intents: refused(/^409 conflict: session al-\d+ is closed$/) },
  {
    column: 'being closed',
    make: () => fixture.session('active', { stop_request: 'close' }),
    wakes: false,
    intents: refused(/^409 conflict: session al-\d+ is being closed$/),
  },
  {
    column: 'archived for good',
    make: () => fixture.session('archived', { continuity_eligible: false }),
    wakes: false,
    intents: refused(/^409 conflict: session al-\d+ is archived and cannot go on$/),
  },
  {
    column: 'quarantined',
    make: () => fixture.session('quarantined', { quarantined_until: soon() }),
    wakes: false,
    intents: refused(/^409 conflict: session al-\d+ is quarantined until .*; wake it first$/),
  },
  {
    column: 'on hold',
    make: () => fixture.session('asleep', { held_until: soon() }),
    wakes: false,
    intents: refused(/^409 conflict: session al-\d+ is on hold until .*; wake it first$/),
  },
];

describe('what a submit does', () => {
  const table = CELLS.flatMap(({ intents, ...cell }) =>
    Object.entries(intents).map(([intent, how]) => ({ ...cell, intent: intent as MessageIntent, how })),
  );
  it.each(table)('$column, $intent: $how', async ({ make, intent, how, wakes }) => {
    const session = await make();
    const before = await fixture.row(session.pk);
    const head = (await fixture.events()).length;
    if (how instanceof RegExp) {
      expect(await refusal(fixture.submit(session, 'hello', intent))).toMatch(how);
      expect(await fixture.row(session.pk)).toEqual(before);
      expect(await fixture.statuses(session.pk)).toEqual([]);
      expect(await fixture.events(head)).toEqual([]);
      return;
    }
    const { request_id, event_cursor, status } = await fixture.a.messages.submit(
      fixture.city,
      session.id,
      { message: 'hello', intent },
      undefined,
      ANYBODY,
    );
    expect({ status, event_cursor }).toEqual({ status: 'accepted', event_cursor: String(head) });
    const after = await fixture.row(session.pk);
    expect(after.wake_request).toBe(wakes ? 'message' : null);
    if (wakes && after.runner_id === null) expect(['start-pending', 'asleep']).toContain(after.state);
    const queued = how === 'queued at once';
    expect((await fixture.terminals(request_id)).map((e) => e.payload)).toEqual(
      queued ? [{ request_id, session_id: session.id, queued: true, intent }] : [],
    );
    await fixture.set(session.pk, { state: 'active', runner_id: 'r1', generation: 7, live: true, stop_request: null });
    expect(await fixture.deliverNext(session.pk, fixture.b)).toMatchObject({ body: 'hello', intent, generation: 7, attempts: 1 });
    const ended = await fixture.terminals(request_id);
    expect(ended.map((e) => [e.type, e.subject, e.payload])).toEqual([
      ['request.result.session.submit', session.id, { request_id, session_id: session.id, queued, intent }],
    ]);
  });

  it('a follow-up behind others is queued, too; a runtime that cannot interrupt refuses to, in a turn', async () => {
    const session = await fixture.session();
    await fixture.send(session, 'first');
    const second = await fixture.submit(session, 'second', 'follow_up');
    expect((await fixture.terminals(second)).map((e) => e.payload.queued)).toEqual([true]);

    const plain = await fixture.session('active');
    await sql`update sessions set capabilities = '{"interrupt":false}' where pk = ${plain.pk}`.execute(fixture.db);
    await fixture.submit(plain, 'nothing to interrupt', 'interrupt_now');
    await inTurn(plain.pk);
    expect(await refusal(fixture.submit(plain, 'now', 'interrupt_now'))).toMatch(/^501 unsupported: /);
    await fixture.submit(plain, 'later', 'default');
  });

  it('nobody who is suspended takes anything, running or not', async () => {
    fixture.suspension = 'agent mayor is suspended';
    try {
      for (const state of ['active', 'asleep', 'start-pending']) {
        const session = await fixture.session(state);
        const why = `409 conflict: session ${session.id} takes no messages: agent mayor is suspended`;
        expect(await refusal(fixture.send(session, 'hello'))).toBe(why);
        expect(await fixture.statuses(session.pk)).toEqual([]);
      }
    } finally {
      fixture.suspension = undefined;
    }
  });

  it('a city that has stopped is not there', async () => {
    const session = await fixture.session();
    await sql`update cities set running = false`.execute(fixture.db);
    try {
      expect(await refusal(fixture.send(session, 'hello'))).toMatch(/^404 not_found: city not found/);
    } finally {
      await sql`update cities set running = true`.execute(fixture.db);
    }
  });
});

describe('waking for a message', () => {
  it('tells those who may start it, and takes back what kept a failed one', async () => {
    const session = await fixture.session('failed-create', { failed_starts: 5, not_before: soon(), reason: 'auth-required' });
    const from = fixture.a.signalled.length;
    await fixture.send(session, 'again');
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'asleep', failed_starts: 0, not_before: null, reason: null });
    expect(fixture.a.signalled.slice(from)).toEqual(expect.arrayContaining(['wanted', `s${session.pk}`]));
  });

  it('what is still being suspended starts again after its process is gone', async () => {
    const session = await fixture.session('suspended', { runner_id: 'r1', generation: 1, live: true, stop_request: 'suspend' });
    await fixture.send(session, 'come back');
    const waiting = { state: 'asleep', runner_id: 'r1', stop_request: 'sleep', wake_request: 'message' };
    expect(await fixture.row(session.pk)).toMatchObject(waiting);
    expect(await fixture.deliverNext(session.pk)).toBeUndefined();
  });

  it('does not shorten a back-off, and keeps an older wish', async () => {
    const session = await fixture.session('asleep', { not_before: soon(), wake_request: 'work', wake_requested_at: new Date(0) });
    await fixture.send(session, 'when you can');
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'asleep', wake_request: 'work', not_before: expect.any(Date) });
  });

  it('a process that is there is told by its runner', async () => {
    const session = await fixture.session();
    const from = fixture.b.signalled.length;
    await fixture.send(session, 'hello', fixture.b);
    expect(fixture.b.signalled.slice(from)).toEqual(expect.arrayContaining([`t${session.pk}`, `s${session.pk}`]));
  });

  it('other families may leave a message with a quarantined session: it has it afterwards', async () => {
    const session = await fixture.session('quarantined', { quarantined_until: soon() });
    await fixture.within(session.pk, (changes, row) =>
      fixture.a.queue.enqueue(changes, row, { body: 'note', source: 'nudge', sender: 'x' }),
    );
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'quarantined', wake_request: 'message' });
    const closed = await fixture.session('closed');
    const late = fixture.within(closed.pk, (changes, row) =>
      fixture.a.queue.enqueue(changes, row, { body: 'n', source: 'nudge', sender: 'x' }),
    );
    expect(await refusal(late)).toMatch(/^409 conflict: /);
  });
});

describe('the queue', () => {
  it('is first in, first out, one at a time, whoever sends; what interrupts goes first', async () => {
    const session = await fixture.session();
    for (const [i, at] of [fixture.a, fixture.b, fixture.a].entries()) await fixture.send(session, `m${i}`, at);
    await fixture.submit(session, 'now', 'interrupt_now');
    await fixture.submit(session, 'now, too', 'interrupt_now', fixture.b);
    const said: (string | undefined)[] = [];
    for (let i = 0; i < 6; i++) said.push((await fixture.deliverNext(session.pk, i % 2 ? fixture.a : fixture.b))?.body);
    expect(said).toEqual(['now', 'now, too', 'm0', 'm1', 'm2', undefined]);
  });

  it('gives nothing while a message is on its way, and none to two takers', async () => {
    const session = await fixture.session();
    await fixture.send(session, 'one');
    await fixture.send(session, 'two');
    const take = (at: typeof fixture.a) =>
      fixture.within(
        session.pk,
        async (changes, row) => {
          const next = await at.queue.next(changes, row);
          return next && (await at.queue.inFlight(changes, row, next.pk));
        },
        at,
      );
    const taken = await Promise.all([take(fixture.a), take(fixture.b), take(fixture.a), take(fixture.b)]);
    expect(taken.map((m) => m?.body).filter(Boolean)).toEqual(['one']);
    expect(await fixture.statuses(session.pk)).toEqual(['in_flight', 'queued']);
  });

  // Guard: the condition of the taking itself, for who has chosen before another took.
  it('gives a message once, and no other while it is on its way, whatever was chosen before', async () => {
    const session = await fixture.session();
    for (const body of ['one', 'two']) await fixture.send(session, body);
    const { rows } = await sql<{ pk: number }>`select pk from session_messages where session_pk = ${session.pk} order by pk`.execute(
      fixture.db,
    );
    const taken = await fixture.within(session.pk, async (changes, row) => {
      const bodies: (string | undefined)[] = [];
      for (const { pk } of [rows[0]!, rows[1]!, rows[0]!]) bodies.push((await fixture.a.queue.inFlight(changes, row, pk))?.body);
      return bodies;
    });
    expect(taken).toEqual(['one', undefined, undefined]);
  });

  it('minds the conversation that a message was meant for, and the time before which it is not', async () => {
    const session = await fixture.session();
    const enqueue = (body: string, more: object) =>
      fixture.within(session.pk, (changes, row) => fixture.a.queue.enqueue(changes, row, { body, source: 'nudge', sender: 'x', ...more }));
    await enqueue('old', { epoch: 1 });
    await enqueue('later', { delayMs: 60_000 });
    await enqueue('new', { epoch: 2 });
    await fixture.set(session.pk, { epoch: 2 });
    const head = (await fixture.events()).length;
    expect(await fixture.deliverNext(session.pk)).toMatchObject({ body: 'new' });
    expect(await fixture.deliverNext(session.pk)).toBeUndefined();
    expect(await fixture.statuses(session.pk)).toEqual(['failed', 'queued', 'delivered']);
    expect((await fixture.events(head)).map((e) => [e.type, e.payload.reason])).toEqual([
      ['session.message.dropped', 'stale_conversation'],
    ]);
  });

  it('does not grow for ever', async () => {
    const session = await fixture.session();
    await sql`insert into session_messages (stream_id, session_pk, id, intent, body, source, sender)
      select ${fixture.city.streamId}, ${session.pk}, 'many-' || n, 'default', 'x', 'nudge', 'x' from generate_series(1, ${QUEUE_LIMIT - 1}) n`.execute(
      fixture.db,
    );
    await fixture.send(session, 'the last');
    expect(await refusal(fixture.send(session, 'too many'))).toMatch(/^409 conflict: 1000 messages wait for session /);
  });

  const fill = (session: SessionRow, many: number, text: string, minutes = 60): Promise<unknown> =>
    sql`insert into session_messages (stream_id, session_pk, id, intent, body, source, sender, expires_at)
      select ${fixture.city.streamId}, ${session.pk}, ${session.id} || '-' || n, 'default', ${text}, 'nudge', 'x', now() + ${minutes}::int * interval '1 minute'
      from generate_series(1, ${many}::int) n`.execute(fixture.db);

  it('nor do the texts of all that wait, together', async () => {
    const session = await fixture.session();
    await fill(session, 16, 'é'.repeat(QUEUE_BYTES / 32 - 1));
    await fixture.send(session, 'é'.repeat(16));
    expect(await refusal(fixture.send(session, '!'))).toBe(
      `409 conflict: messages of ${QUEUE_BYTES} bytes wait for session ${session.id} already, and with this one they would be more than ${QUEUE_BYTES}`,
    );
    await fixture.deliverNext(session.pk);
    await fixture.send(session, '!');
  });

  // Guard: a full queue has a gigabyte of texts at the worst, which no process should be given at once.
  it('ends with its session, however long its texts are: nobody is given them', async () => {
    const session = await fixture.session();
    await fill(session, 50, 'long '.repeat(200_000));
    const told: object[] = [];
    fixture.a.queue.onSettled((_changes, row, message) => Promise.resolve(void (row.pk === session.pk && told.push(message))));
    await fixture.close(session.pk);
    expect(told).toHaveLength(50);
    for (const message of told) expect(message).not.toHaveProperty('body');
  });

  it('expires in steps', async () => {
    const session = await fixture.session();
    await fill(session, 150, 'late', -1);
    await fill(await fixture.session(), 1, 'in time');
    expect([await fixture.a.reconciler.sweep(), await fixture.b.reconciler.sweep(), await fixture.a.reconciler.sweep()]).toEqual([
      100, 50, 0,
    ]);
    expect(new Set(await fixture.statuses(session.pk))).toEqual(new Set(['expired']));
  });

  it('takes a message once under a key, wherever and whenever it is sent again', async () => {
    const session = await fixture.session();
    const tries = await Promise.allSettled(
      [fixture.a, fixture.b, fixture.a, fixture.b].map((at) => fixture.send(session, 'once', at, 'k1')),
    );
    const ids = new Set(tries.flatMap((t) => (t.status === 'fulfilled' ? [t.value] : [])));
    expect(ids.size).toBe(1);
    for (const t of tries) if (t.status === 'rejected') expect((t.reason as ProblemError).detail).toMatch(/^in_flight: /);
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    await fixture.close(session.pk);
    expect(await fixture.send(session, 'once', fixture.b, 'k1')).toBe([...ids][0]);
    expect(await refusal(fixture.send(session, 'other words', fixture.b, 'k1'))).toMatch(/^422 idempotency_mismatch: /);
    const other = await fixture.session();
    expect(await refusal(fixture.send(other, 'once', fixture.b, 'k1'))).toMatch(/^422 idempotency_mismatch: /);
  });

  it('is listed page by page, newest first, and read in full', async () => {
    const session = await fixture.session();
    const long = 'é'.repeat(5000);
    for (const text of ['a', 'b', long]) await fixture.send(session, text);
    await fixture.deliverNext(session.pk);
    const list = async (query: object) => {
      const { value, index } = await fixture.a.list.list(fixture.city, session.id, MessagesQuery.parse(query));
      expect(index).toBe((await fixture.events()).length);
      return value;
    };
    const first = await list({ limit: '2' });
    expect(first.items.map((m) => [m.message.slice(0, 1), m.status, m.truncated])).toEqual([
      ['é', 'queued', true],
      ['b', 'queued', undefined],
    ]);
    const second = await list({ limit: '2', cursor: first.next_cursor });
    expect(second).toEqual({ items: [expect.objectContaining({ message: 'a', status: 'delivered', generation: 1 })] });
    expect((await list({ status: 'delivered,failed' })).items).toHaveLength(1);
    expect((await fixture.a.list.get(fixture.city, session.id, first.items[0]!.id)).message).toBe(long);
    expect(await refusal(list({ cursor: 'v1:e30' }))).toMatch(/^400 invalid_cursor: /);
    expect(() => MessagesQuery.parse({ status: 'odd' })).toThrow();
  });

  it('tells how the turn that it began has ended, once it has', async () => {
    const session = await fixture.session();
    for (const text of ['cut off', 'under way', 'queued']) await fixture.send(session, text);
    for (const turn of [1, 2]) {
      const { pk, id } = (await fixture.deliverNext(session.pk))!;
      await sql`insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
        values (${session.pk}, ${pk}, ${pk}, ${id}, 1, 1, ${turn}, 'message', 'user', 'final', '[]')`.execute(fixture.db);
    }
    await sql`insert into session_turns (session_pk, turn, stream_id, generation, ended_at, stop_reason)
      values (${session.pk}, 1, ${session.stream_id}, 1, now(), 'lost'), (${session.pk}, 2, ${session.stream_id}, 1, null, null)`.execute(
      fixture.db,
    );
    const { value } = await fixture.a.list.list(fixture.city, session.id, MessagesQuery.parse({}));
    const ends = value.items.map(({ message, stop_reason: how }) => [message, how]);
    expect(ends).toEqual([
      ['queued', undefined],
      ['under way', undefined],
      ['cut off', 'lost'],
    ]);
    expect(await fixture.a.list.get(fixture.city, session.id, value.items[2]!.id)).toMatchObject({ stop_reason: 'lost' });
  });
});
