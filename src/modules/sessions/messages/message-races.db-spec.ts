import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { ANYBODY } from '../../../contract/principal.js';
import { ProblemError } from '../../../contract/problems.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { OperationsRepository, type EndedOperation } from '../../../platform/operations/operations.repository.js';
import { eventually } from '../../../../test/support/sse.js';
import type { SessionRow } from '../session-store/session-row.js';
import { MessageQueueRepository } from './message-queue.repository.js';
import type { MessageRow } from './message-row.js';
import { sessionFixture, type SessionProcess, type SessionFixture } from './testing/session-fixture.js';

const ROUNDS = DEEP ? 25 : 10;
let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());

const rows = async (pk: number): Promise<(MessageRow & { id: string })[]> =>
  (await sql<MessageRow>`select * from session_messages where session_pk = ${pk} order by pk`.execute(fixture.db)).rows;
const byRequest = async (requestId: string): Promise<MessageRow> =>
  (await sql<MessageRow>`select * from session_messages where request_id = ${requestId}`.execute(fixture.db)).rows[0]!;
const letExpire = (id: string): Promise<unknown> =>
  sql`update session_messages set expires_at = now() where id = ${id}`.execute(fixture.db);
const letTimeOut = (requestId: string): Promise<unknown> =>
  sql`update operations set deadline_at = now() where id = ${requestId}`.execute(fixture.db);
const take = (session: SessionRow, at = fixture.a): Promise<MessageRow | undefined> =>
  fixture.within(
    session.pk,
    async (changes, row) => {
      const next = await at.queue.next(changes, row);
      return next && at.queue.inFlight(changes, row, next.pk);
    },
    at,
  );
const codes = async (requestId: string): Promise<unknown[]> =>
  (await fixture.terminals(requestId)).map((e) => (e.type === 'request.failed' ? e.payload.error_code : 'ok'));

describe('how a request for a message ends', () => {
  it('cancelled: with its operation, once; not when it is on its way', async () => {
    const session = await fixture.session();
    const [first, second] = [await fixture.send(session, 'one'), await fixture.send(session, 'two')];
    const taken = await take(session);
    const cancel = async (requestId: string, at = fixture.b) =>
      at.list.cancel(fixture.city, session.id, (await byRequest(requestId)).id, ANYBODY);
    await expect(cancel(first)).rejects.toThrow(`conflict: message ${taken!.id} is in flight already`);
    const head = (await fixture.events()).length;
    expect(await Promise.all([cancel(second), cancel(second, fixture.a), cancel(second)])).toEqual(Array(3).fill({ status: 'ok' }));
    expect(await codes(second)).toEqual(['cancelled']);
    expect((await fixture.events(head)).map((e) => [e.type, e.actor])).toEqual([
      ['session.message.dropped', 'api'],
      ['request.failed', 'reconciler'],
    ]);
    expect(await codes(first)).toEqual([]);
    await expect(fixture.a.list.cancel(fixture.city, session.id, 'msg-0', ANYBODY)).rejects.toThrow(/^not_found: message msg-0 of session/);
  });

  it('expired: its time in the queue is over, for any number of sweepers', async () => {
    const session = await fixture.session();
    const sent = await fixture.submit(session, 'old');
    const young = await fixture.submit(session, 'young');
    await fixture.submit(session, 'waiting');
    await letExpire((await byRequest(sent)).id);
    expect(await fixture.deliverNext(session.pk)).toMatchObject({ body: 'young' });
    const swept = await Promise.all([fixture.a.reconciler.sweep(), fixture.b.reconciler.sweep(), fixture.a.reconciler.sweep()]);
    expect(swept.reduce((sum, n) => sum + n)).toBe(1);
    expect([await codes(sent), await codes(young)]).toEqual([['expired'], ['ok']]);
    expect(await fixture.statuses(session.pk)).toEqual(['expired', 'delivered', 'queued']);
  });

  it('timed out: the request has failed, and the message still comes, silently', async () => {
    const session = await fixture.session('asleep');
    const sent = await fixture.send(session, 'slow');
    await letTimeOut(sent);
    await Promise.all([fixture.a.sweeper.sweep(), fixture.b.sweeper.sweep()]);
    await eventually(async () => (await fixture.terminals(sent)).length > 0);
    expect(await codes(sent)).toEqual(['timeout']);
    expect((await fixture.terminals(sent))[0]!.payload.error_message).toMatch(
      /^not finished within 240 s; the message may still be delivered/,
    );
    await fixture.set(session.pk, { state: 'active', runner_id: 'r1', generation: 1, live: true });
    expect(await fixture.deliverNext(session.pk)).toMatchObject({ body: 'slow' });
    expect(await codes(sent)).toEqual(['timeout']);
  });

  it('refused by the agent: by the name of the operation', async () => {
    const session = await fixture.session();
    const sent = [await fixture.send(session, 'a'), await fixture.submit(session, 'b'), await fixture.send(session, 'c')];
    for (const failure of [{ message: 'no' }, { message: 'no' }, { code: 'auth_required', message: 'no' }]) {
      const taken = await take(session);
      expect(await fixture.within(session.pk, (changes, row) => fixture.a.queue.failed(changes, row, taken!.pk, failure))).toBe(true);
    }
    expect(await Promise.all(sent.map(codes))).toEqual([['message_failed'], ['submit_failed'], ['auth_required']]);
  });

  it('process lost: unconfirmed and never sent again; what is queued waits for the next process', async () => {
    const session = await fixture.session();
    const [lost, waiting] = [await fixture.send(session, 'lost'), await fixture.send(session, 'waiting')];
    const taken = await take(session);
    await fixture.lose(session.pk, fixture.b);
    expect(await codes(lost)).toEqual(['delivery_unconfirmed']);
    expect(await fixture.statuses(session.pk)).toEqual(['unconfirmed', 'queued']);
    expect(await take(session)).toBeUndefined();
    await fixture.set(session.pk, { state: 'active', runner_id: 'r1', generation: 2, live: true });
    // The old runner comes back to itself: what it says of its message does not count.
    expect(await fixture.within(session.pk, (changes, row) => fixture.a.queue.delivered(changes, row, taken!.pk))).toBe(false);
    expect(await fixture.deliverNext(session.pk)).toMatchObject({ body: 'waiting', generation: 2 });
    expect([await codes(lost), await codes(waiting)]).toEqual([['delivery_unconfirmed'], ['ok']]);
  });

  it('of another process: what one was given the next does not confirm', async () => {
    const session = await fixture.session();
    await fixture.send(session, 'mine');
    const taken = await take(session);
    await fixture.send(session, 'next');
    expect(await fixture.within(session.pk, (changes, row) => fixture.b.queue.next(changes, row))).toBeUndefined();
    await fixture.set(session.pk, { generation: 2 });
    const confirm = () => fixture.within(session.pk, (changes, row) => fixture.b.queue.delivered(changes, row, taken!.pk), fixture.b);
    expect(await confirm()).toBe(false);
    await fixture.set(session.pk, { generation: 1 });
    expect([await confirm(), await confirm()]).toEqual([true, false]);
  });

  it('closed: everything that waits fails, what is on its way is unconfirmed', async () => {
    const session = await fixture.session();
    const sent = [await fixture.send(session, 'one'), await fixture.submit(session, 'two'), await fixture.send(session, 'three')];
    await take(session);
    await fixture.close(session.pk);
    expect(await Promise.all(sent.map(codes))).toEqual([['delivery_unconfirmed'], ['session_closed'], ['session_closed']]);
    expect(await fixture.statuses(session.pk)).toEqual(['unconfirmed', 'failed', 'failed']);
  });

  it('never started: told at once, while what others left stays for the next try', async () => {
    const session = await fixture.session('creating');
    const sent = [await fixture.send(session, 'one'), await fixture.submit(session, 'two', 'interrupt_now')];
    await fixture.within(session.pk, (changes, row) =>
      fixture.a.queue.enqueue(changes, row, { body: 'note', source: 'nudge', sender: 'x' }),
    );
    await fixture.within(session.pk, (changes, row) =>
      changes.move(row, 'fail_start', { reason: 'auth-required', set: { runner_id: null, live: false } }),
    );
    expect(await Promise.all(sent.map(codes))).toEqual([['start_failed'], ['start_failed']]);
    expect(await fixture.statuses(session.pk)).toEqual(['failed', 'failed', 'queued']);
  });

  it('families that asked to be told are told, in the transaction', async () => {
    const session = await fixture.session();
    const told: string[] = [];
    fixture.a.queue.onSettled(async (changes, row, message, outcome) => {
      expect(row.pk).toBe(message.session_pk);
      told.push(`${message.source} ${message.reference} ${outcome === 'delivered' ? outcome : outcome.code}`);
      if (message.reference === 'w2') throw new Error('not so');
    });
    for (const reference of ['w1', 'w2'])
      await fixture.within(session.pk, (changes, row) =>
        fixture.a.queue.enqueue(changes, row, { body: 'x', source: 'wait', sender: 'x', reference }),
      );
    await fixture.deliverNext(session.pk);
    await expect(fixture.deliverNext(session.pk)).rejects.toThrow('not so');
    expect(told).toEqual(['wait w1 delivered', 'wait w2 delivered']);
    expect(await fixture.statuses(session.pk)).toEqual(['delivered', 'in_flight']);
  });
});

/** Everything that may end a message, at once, from two processes. */
describe('races', () => {
  const CAUSES = ['deliver', 'deliver', 'cancel', 'expire', 'deadline', 'lose', 'close'] as const;
  type Cause = (typeof CAUSES)[number];

  async function cause(which: Cause, session: SessionRow, requests: readonly string[], at: SessionProcess): Promise<void> {
    const some = requests[Math.floor(Math.random() * requests.length)]!;
    try {
      if (which === 'deliver') while ((await fixture.deliverNext(session.pk, at)) !== undefined);
      if (which === 'cancel') await at.list.cancel(fixture.city, session.id, (await byRequest(some)).id, ANYBODY);
      if (which === 'expire') {
        await letExpire((await byRequest(some)).id);
        await at.reconciler.sweep();
      }
      if (which === 'deadline') {
        await letTimeOut(some);
        await at.sweeper.sweep();
      }
      if (which === 'lose') await fixture.lose(session.pk, at);
      if (which === 'close') await fixture.close(session.pk, at);
    } catch (error) {
      // A refusal is an answer: taken too late to be cancelled, already asleep.
      if (!(error instanceof ProblemError)) throw error;
    }
  }

  it('every accepted request ends with exactly one terminal event, every message that was dropped with one, too', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const session = await fixture.session();
      const requests: string[] = [];
      for (let i = 0; i < 4; i++) requests.push(i % 2 === 0 ? await fixture.send(session, `${i}`) : await fixture.submit(session, `${i}`));
      const causes = [...CAUSES].sort(() => Math.random() - 0.5).slice(0, 4);
      await Promise.all(causes.map((which, i) => cause(which, session, requests, i % 2 === 0 ? fixture.a : fixture.b)));
      await fixture.close(session.pk).catch(() => undefined);
      await eventually(async () => {
        const found = await Promise.all(requests.map((id) => fixture.terminals(id)));
        return found.every((terminals) => terminals.length > 0);
      });
      const events = await fixture.events();
      for (const message of await rows(session.pk)) {
        const where = { round, causes, status: message.status };
        const terminals = await fixture.terminals(message.request_id!);
        expect({ ...where, terminals: terminals.length }).toEqual({ ...where, terminals: 1 });
        const dropped = events.filter((e) => e.type === 'session.message.dropped' && e.payload.message_id === message.id);
        expect({ ...where, dropped: dropped.length }).toEqual({ ...where, dropped: message.status === 'delivered' ? 0 : 1 });
        expect(['queued', 'in_flight']).not.toContain(message.status);
        const [{ type, payload }] = terminals as [(typeof terminals)[number]];
        if (type === 'request.failed') expect([message.error_code, 'timeout']).toContain(payload.error_code);
        else expect(message.status).toBe('delivered');
      }
    }
  });

  it('sends from many sides come out in the order of their acceptance, none twice, none missing', async () => {
    const session = await fixture.session();
    const sending = Promise.all(Array.from({ length: 40 }, (_, i) => fixture.send(session, `${i}`, i % 2 === 0 ? fixture.a : fixture.b)));
    const got: MessageRow[] = [];
    let sent = false;
    void sending.then(() => (sent = true));
    for (;;) {
      const done = sent;
      const taken = await fixture.deliverNext(session.pk, fixture.b);
      if (taken !== undefined) got.push(taken);
      else if (done) break;
    }
    expect(got.map((m) => m.pk)).toEqual([...got].sort((x, y) => x.pk - y.pk).map((m) => m.pk));
    expect(got.map((m) => m.body).sort()).toEqual(Array.from({ length: 40 }, (_, i) => `${i}`).sort());
    expect((await Promise.all((await sending).map(codes))).flat()).toEqual(Array(40).fill('ok'));
  });
});

/** The same without the guards: two confirmations of one message are two terminal events. */
class Unguarded extends MessageQueueRepository {
  override async deliver(tx: Tx, session: { pk: number; generation: number }, pk: number): Promise<MessageRow | undefined> {
    const { rows } = await sql<MessageRow>`update session_messages set status = 'delivered' where pk = ${pk} returning *`.execute(tx);
    return rows[0] ?? super.deliver(tx, session, pk);
  }
}
class Forgetful extends OperationsRepository {
  override async endExternal(tx: Tx, id: string): Promise<EndedOperation | undefined> {
    const { rows } = await sql<EndedOperation>`
      update operations set state = 'succeeded', result = '{}', finished_at = now() where id = ${id} returning stream, subject, target, 0 as "ageMs"`.execute(
      tx,
    );
    return rows[0];
  }
}

it.each([
  ['with its guards', {}, 1],
  ['without them', { messages: new Unguarded(), operations: new Forgetful() }, 2],
] as const)('a message confirmed twice, %s', async (_name, twins, expected) => {
  const twin = await sessionFixture(twins);
  try {
    const session = await twin.session();
    const sent = await twin.send(session, 'once');
    const taken = await twin.within(session.pk, async (changes, row) => {
      const next = await twin.a.queue.next(changes, row);
      return twin.a.queue.inFlight(changes, row, next!.pk);
    });
    await Promise.all(
      [twin.a, twin.b].map((at) => twin.within(session.pk, (changes, row) => at.queue.delivered(changes, row, taken!.pk), at)),
    );
    expect(await twin.terminals(sent)).toHaveLength(expected);
  } finally {
    await twin.stop();
  }
});
