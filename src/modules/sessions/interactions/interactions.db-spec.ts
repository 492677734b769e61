import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import { ProblemError } from '../../../contract/problems.js';
import type { Database } from '../../../platform/database/database.js';
import { InboxRepository, type InboxAnswer } from '../../runners/runners/inbox.repository.js';
import { sessionFixture, type SessionProcess, type SessionFixture } from '../messages/testing/session-fixture.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { InteractionRow, NewInteraction } from './interaction-row.js';
import { PendingQuery, SupervisorPendingQuery } from './interactions.schemas.js';

/** Longer than an event tells, which ends in the middle of a character. */
const LONG = `${'p'.repeat(499)}${'😀'.repeat(50)}`;

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());

const OPTIONS = [
  { id: 'y', label: 'Yes', kind: 'allow_once' },
  { id: 'n', label: 'No', kind: 'reject_once' },
];
const open = (session: SessionRow, requestId = 'q1', more: Partial<NewInteraction> = {}, at = fixture.a): Promise<InteractionRow> =>
  fixture.within(
    session.pk,
    (changes, row) => at.interactions.open(changes, row, { requestId, kind: 'approval', prompt: 'May I?', options: OPTIONS, ...more }),
    at,
  );
const respond = (session: SessionRow, body: object, at: SessionProcess = fixture.a, caller: Principal = ANYBODY, key?: string) =>
  at.responses.respond(fixture.city, session.id, { action: 'approve', ...body }, key, caller);
const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => 'accepted',
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(ProblemError);
  return `${(error as ProblemError).kind.status} ${(error as ProblemError).detail}`;
};
const pending = async (session: SessionRow) => (await fixture.b.responses.pending(fixture.city, session.id)).value;
const somebody = (actor: string): Principal => ({ ...ANYBODY, actor });
const rowsOf = async (pk: number, db: Kysely<Database> = fixture.db): Promise<InteractionRow[]> =>
  (await sql<InteractionRow>`select * from session_interactions where session_pk = ${pk} order by pk`.execute(db)).rows;
/** Answers that the session's runner has not passed on yet. */
const toApply = async ({ pk }: SessionRow): Promise<readonly InboxAnswer[]> =>
  (await new InboxRepository().read(fixture.db, 'r1', [pk])).items[0]?.answers ?? [];
const restart = async (session: SessionRow): Promise<void> => {
  const { generation } = await fixture.row(session.pk);
  await fixture.set(session.pk, { state: 'active', runner_id: 'r1', live: true, generation: generation + 1 });
};

describe('a question', () => {
  // Guard: an answer that nobody can give would be taken, and the agent wait on.
  it('that nobody here knows how to answer takes no answer, and stays open', async () => {
    const session = await fixture.session();
    await open(session, 'q1', { kind: 'dialog', options: [], metadata: { answerable: 'false' } });
    expect(await refusal(respond(session, {}))).toContain('501 unsupported: nobody here knows how to answer interaction q1');
    expect(await pending(session)).toMatchObject({ pending: { request_id: 'q1' } });
    expect(await toApply(session)).toEqual([]);
  });

  it('is opened once with its event and its position, shown, and answered by whoever is first', async () => {
    const session = await fixture.session();
    const head = (await fixture.events()).length;
    const opened = await open(session, 'q1', { prompt: LONG, metadata: { tool_name: 'sh' } });
    expect((await open(session)).pk).toBe(opened.pk);
    const shown = await pending(session);
    expect(shown).toEqual({
      supported: true,
      pending: {
        request_id: 'q1',
        kind: 'approval',
        prompt: LONG,
        options: ['Yes', 'No'],
        choices: OPTIONS,
        metadata: { tool_name: 'sh' },
        opened_at: opened.opened_at.toISOString(),
      },
    });
    expect(await respond(session, { text: 'go', metadata: { m: '1' } }, fixture.b, somebody('ann'))).toEqual({
      status: 'accepted',
      id: session.id,
    });
    expect(await pending(session)).toEqual({ supported: true });
    const told = (await fixture.events(head)).map(({ type, actor, payload: { session: _, ...payload } }) => [type, actor, payload]);
    expect(told).toEqual([
      [
        'session.interaction.opened',
        'runner',
        {
          session_id: session.id,
          request_id: 'q1',
          kind: 'approval',
          status: 'open',
          prompt: 'p'.repeat(499),
          prompt_cut: true,
          choices: OPTIONS,
          metadata: { tool_name: 'sh' },
          opened_at: opened.opened_at.toISOString(),
          title: 'x',
          template: session.template,
          agent: 'mayor',
        },
      ],
      [
        'session.interaction.resolved',
        'ann',
        { session_id: session.id, request_id: 'q1', kind: 'approval', status: 'answered', action: 'y' },
      ],
    ]);
    const [row] = await rowsOf(session.pk);
    expect(row).toMatchObject({ answered_by: 'ann', answer: { text: 'go', metadata: { m: '1' }, said: 'approve' } });
    expect(row!.closed_rev).toBe(row!.opened_rev + 1);
    expect(await refusal(respond(session, {}))).toMatch(/^409 no_pending: session .* waits for no answer$/);
    expect(await refusal(respond(session, { request_id: 'q1' }))).toBe('409 no_pending: interaction q1 was answered by ann');
  });

  it('is passed on to the process that asked, once', async () => {
    const session = await fixture.session();
    await open(session);
    const from = fixture.b.signalled.length;
    await respond(session, { action: 'No', text: 'never' }, fixture.b);
    expect(fixture.b.signalled.slice(from)).toEqual(expect.arrayContaining([`t${session.pk}`, `s${session.pk}`]));
    const [answer] = await toApply(session);
    expect(answer).toMatchObject({ runtimeId: 'q1', action: 'n', text: 'never' });
    await fixture.within(session.pk, (changes) => fixture.a.interactions.applied(changes.tx, answer!.pk));
    expect(await toApply(session)).toEqual([]);
  });

  it('needs its name where several are open', async () => {
    const session = await fixture.session();
    for (const id of ['q1', 'q2', 'q3']) await open(session, id);
    expect(await pending(session)).toMatchObject({ pending: { request_id: 'q1' }, others: [{ request_id: 'q2' }, { request_id: 'q3' }] });
    const why = `409 invalid_interaction: session ${session.id} waits for 3 answers; name one as request_id: q1, q2, q3`;
    expect(await refusal(respond(session, {}))).toBe(why);
    await respond(session, { request_id: 'q2' });
    expect(await refusal(respond(session, { request_id: 'q2' }))).toBe(
      '409 invalid_interaction: interaction q2 was answered by api; open: q1, q3',
    );
    expect(await refusal(respond(session, { request_id: 'other' }))).toBe(
      `409 invalid_interaction: session ${session.id} has no interaction other; open: q1, q3`,
    );
  });

  it('is not answered with what is not offered: nothing changes', async () => {
    const session = await fixture.session();
    await open(session);
    expect(await refusal(respond(session, { action: 'perhaps' }))).toBe(
      '400 invalid: unknown action "perhaps"; allowed: y, n, approve, deny',
    );
    expect(await pending(session)).toMatchObject({ pending: { request_id: 'q1' } });
  });

  it('of a process that is gone is cancelled, and its name does not answer the next process', async () => {
    const session = await fixture.session();
    await open(session);
    await open(session, 'q2');
    await respond(session, { request_id: 'q2' });
    const head = (await fixture.events()).length;
    await fixture.lose(session.pk, fixture.b);
    const resolved = (await fixture.events(head)).filter((e) => e.type === 'session.interaction.resolved');
    expect(resolved.map((e) => e.payload)).toMatchObject([
      { session_id: session.id, request_id: 'q1', kind: 'approval', status: 'cancelled' },
    ]);
    await restart(session);
    expect(await toApply(session)).toEqual([]);
    const again = await open(session);
    expect(again).toMatchObject({ runtime_id: 'q1', generation: 2 });
    expect(again.request_id).not.toBe('q1');
    expect(await refusal(respond(session, { request_id: 'q1' }))).toMatch(
      /^409 invalid_interaction: interaction q1 was cancelled; open: q1\.\d+$/,
    );
    await respond(session, {});
    const [answer] = await toApply(session);
    expect(answer).toMatchObject({ pk: again.pk, runtimeId: 'q1' });
    await fixture.within(session.pk, (changes) => fixture.a.interactions.applied(changes.tx, answer!.pk));
    // The same question of the same process, once more.
    expect((await open(session)).pk).not.toBe(again.pk);
  });

  it('that its runtime takes back is cancelled, all at once take positions of their own', async () => {
    const session = await fixture.session();
    await Promise.all([open(session, 'q1'), open(session, 'q2', {}, fixture.b), open(session, 'q3')]);
    const clear = (id: string) => fixture.within(session.pk, (changes, row) => fixture.a.interactions.clear(changes, row, id));
    expect([await clear('q2'), await clear('q2'), await clear('nope')]).toEqual([true, false, false]);
    expect(await fixture.within(session.pk, (changes, row) => fixture.a.interactions.cancelAll(changes, row))).toBe(2);
    const rows = await rowsOf(session.pk);
    expect(rows.map((row) => row.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    const revs = rows.flatMap((row) => [row.opened_rev, row.closed_rev]);
    expect(new Set(revs).size).toBe(6);
    const { rows: logs } = await sql<{ head: number }>`select head from session_logs where session_pk = ${session.pk}`.execute(fixture.db);
    expect(logs[0]!.head).toBe(Math.max(...(revs as number[])));
  });

  it('is not asked of a session that is closed, being made, or of a runtime that cannot ask', async () => {
    const closed = await fixture.session('closed');
    expect(await refusal(pending(closed))).toBe(`409 conflict: session ${closed.id} is closed`);
    expect(await refusal(respond(closed, {}))).toBe(`409 conflict: session ${closed.id} is closed`);
    for (const state of ['start-pending', 'creating']) expect(await pending(await fixture.session(state))).toEqual({ supported: false });
    expect(await pending(await fixture.session('asleep'))).toEqual({ supported: true });
    const mute = await fixture.session();
    await sql`update sessions set capabilities = '{"interactions":false}' where pk = ${mute.pk}`.execute(fixture.db);
    expect(await pending(mute)).toEqual({ supported: false });
    expect(await refusal(respond(mute, {}))).toMatch(/^501 unsupported: /);
  });
});

describe('races', () => {
  it('of two people one wins, the other learns who', async () => {
    for (let round = 0; round < 10; round++) {
      const session = await fixture.session();
      await open(session);
      const head = (await fixture.events()).length;
      const people = ['ann', 'bob', 'cid', 'dot'];
      const answers = await Promise.allSettled(
        people.map((who, i) => respond(session, { request_id: 'q1' }, i % 2 === 0 ? fixture.a : fixture.b, somebody(who))),
      );
      const winners = people.filter((_, i) => answers[i]!.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      for (const answer of answers)
        if (answer.status === 'rejected')
          expect((answer.reason as ProblemError).detail).toBe(`no_pending: interaction q1 was answered by ${winners[0]}`);
      expect((await fixture.events(head)).map((e) => [e.type, e.actor])).toEqual([['session.interaction.resolved', winners[0]]]);
    }
  });

  it('one answer counts although nobody has locked the session', async () => {
    const session = await fixture.session();
    const { pk } = await open(session);
    const answer = (at: SessionProcess, by: string) =>
      at.sessions.runInAnyState(fixture.city, by, (changes) =>
        at.interactions.answer(changes, session, pk, { action: 'y', by, said: 'y' }),
      );
    const answers = await Promise.all(['ann', 'bob', 'cid'].map((who, i) => answer(i === 1 ? fixture.b : fixture.a, who)));
    expect(answers.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it('of an answer, the runtime taking it back, and the end of the process exactly one settles it', async () => {
    for (let round = 0; round < 15; round++) {
      const session = await fixture.session();
      await open(session);
      const head = (await fixture.events()).length;
      const [answer] = await Promise.allSettled([
        respond(session, { request_id: 'q1' }, fixture.b),
        round % 3 === 0
          ? fixture.lose(session.pk)
          : fixture.within(session.pk, (changes, row) => fixture.a.interactions.clear(changes, row, 'q1')),
        round % 2 === 0 ? fixture.close(session.pk, fixture.b) : Promise.resolve(),
      ]);
      const resolved = (await fixture.events(head)).filter((e) => e.type === 'session.interaction.resolved');
      expect(resolved).toHaveLength(1);
      const [row] = await rowsOf(session.pk);
      expect(resolved[0]!.payload.status).toBe(row!.status);
      expect(answer.status === 'fulfilled').toBe(row!.status === 'answered');
    }
  });

  it('of a question and a message: it is never taken while one is open', async () => {
    for (let round = 0; round < 10; round++) {
      const session = await fixture.session();
      const [opened, sent] = await Promise.allSettled([open(session), fixture.send(session, 'hello', fixture.b)]);
      expect(opened.status).toBe('fulfilled');
      if (sent.status === 'rejected')
        expect((sent.reason as ProblemError).detail).toBe('pending_interaction: session has a pending interaction');
      else {
        const order = await sql<{ before: boolean }>`select m.created_at <= i.opened_at as before from session_messages m
          join session_interactions i using (session_pk) where m.session_pk = ${session.pk}`.execute(fixture.db);
        expect(order.rows).toEqual([{ before: true }]);
      }
    }
  });

  it('under a key an answer is given once, and its repetition is answered alike', async () => {
    const session = await fixture.session();
    await open(session);
    const first = await respond(session, {}, fixture.a, ANYBODY, 'r-key');
    expect(await respond(session, {}, fixture.b, ANYBODY, 'r-key')).toEqual(first);
    expect(await refusal(respond(session, { action: 'deny' }, fixture.b, ANYBODY, 'r-key'))).toMatch(/^422 idempotency_mismatch: /);
  });
});

describe("a city's list", () => {
  it('has every open question, oldest first, page by page, by an index', async () => {
    await sql`update session_interactions set status = 'cancelled', closed_rev = 0 where status = 'open'`.execute(fixture.db);
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      const session = await fixture.session();
      await open(session, `c${i}`);
      made.push(session.id);
    }
    const list = async (query: object) => (await fixture.a.responses.list(fixture.city, PendingQuery.parse(query))).value;
    const all = await list({});
    expect(all.items!.map((entry) => entry.session_id)).toEqual(made);
    expect(all.items![0]).toMatchObject({
      request_id: 'c0',
      kind: 'approval',
      prompt: 'May I?',
      options: ['Yes', 'No'],
      agent: 'mayor',
      title: 'x',
    });
    const seen: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await list({ limit: '2', cursor });
      expect(page.total).toBe(5);
      seen.push(...page.items!.map((entry) => entry.session_id));
      cursor = page.next_cursor;
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(made);
    expect(await refusal(list({ cursor: 'v1:e30' }))).toMatch(/^400 invalid_cursor: /);

    const everywhere = async (query: object, caller = ANYBODY) =>
      fixture.a.responses.everywhere(SupervisorPendingQuery.parse(query), caller);
    const { items, total, event_cursor } = await everywhere({});
    expect(items).toEqual(all.items!.map((entry) => ({ ...entry, city: fixture.city.name })));
    expect({ total, event_cursor }).toEqual({ total: 5, event_cursor: expect.stringContaining(fixture.city.name) });
    const first = await everywhere({ limit: '2', cities: fixture.city.name });
    const rest = await everywhere({ cursor: first.next_cursor });
    expect([...first.items, ...rest.items]).toEqual(items);
    expect(rest.next_cursor).toBeUndefined();
    const other: Principal = { ...ANYBODY, cities: ['another'] };
    for (const unseen of [await everywhere({}, other), await everywhere({ cities: fixture.city.name }, other)])
      expect([unseen.items, unseen.total, unseen.event_cursor.includes(fixture.city.name)]).toEqual([[], 0, false]);
    const plan = await fixture.db.transaction().execute(async (tx) => {
      await sql`set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off`.execute(tx);
      return (
        await sql<{ 'QUERY PLAN': string }>`explain select i.pk from session_interactions i
          where i.stream_id = ${fixture.city.streamId} and i.status = 'open' order by i.opened_at, i.pk limit 100`.execute(tx)
      ).rows.map((line) => line['QUERY PLAN']);
    });
    expect(plan.join()).toMatch(/Index.*session_interactions_open_idx/);
    expect(plan.join()).not.toMatch(/Sort/);
  });
});
