import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../../contract/principal.js';
import { AuditedRequest, onBehalfOf } from '../../../../platform/audit/audited-request.js';
import { createDb, createPool, type Db, type PgPool } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { MovedStreams, type Moved } from '../../../../platform/event-log/moved.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { cloneDatabase, LOCK_TIMEOUT_MS, type TestDatabase } from '../../../../../test/support/database.js';
import { eventually } from '../../../../../test/support/sse.js';
import { registerCity } from '../../../../../test/support/registry.js';
import { keyOf, type Conversation } from '../conversations/conversation.js';
import type { TellingService } from '../deliveries/telling.service.js';
import { InboundCommitter } from './inbound-committer.js';
import { InboundRepository, type Asked } from './inbound.repository.js';
import type { InboundResult } from './inbound.schemas.js';
import type { Intake, Taking } from './intake.js';

const CITIES = ['alpha', 'beta', 'gamma', 'delta'];

let database: TestDatabase;
let pool: PgPool;
let db: Db;

beforeEach(async () => {
  database = await cloneDatabase(LOCK_TIMEOUT_MS);
  pool = createPool(database.url);
  db = createDb(pool);
  for (const city of CITIES) {
    const { streamId } = await registerCity(db, city, `/${city}`);
    await pool.query(`insert into config_states (stream_id, revision) values ($1, 1)`, [streamId]);
    await conversation(city, 'one');
  }
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

const named = (conversation_id: string): Conversation => ({
  ...{ scope_id: 's', provider: 'slack', account_id: 'default', conversation_id, parent_conversation_id: '', kind: 'room' },
});

/** One that the agent mayor has. */
const conversation = (city: string, id: string): Promise<unknown> => pool.query(MAKE_CONVERSATION, ofConversation(city, id));

const MAKE_CONVERSATION = `
  with c as (
    insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
    select stream_id, $2, $3, $4, $5, $6, '', $7 from cities where name = $1 returning pk, stream_id),
  b as (insert into extmsg_bindings (stream_id, conversation_pk, id, agent_name, generation) select stream_id, pk, $1 || $6, 'mayor', 1 from c)
  insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence) select stream_id, pk, 'mayor', '{binding}', 0 from c`;

const MAKE_GROUP = `
  insert into extmsg_groups (stream_id, conversation_pk, id, mode, fanout_enabled, fanout_untargeted, max_peer_publishes, max_peer_deliveries)
  select stream_id, pk, pk::text, 'launcher', false, false, 1, 1 from extmsg_conversations`;

const MAKE_PARTICIPANT = `
  insert into extmsg_participants (group_pk, stream_id, id, handle, agent_name) select pk, stream_id, id, 'a', 'mayor' from extmsg_groups`;

/** So many are told in each conversation, with the mayor. */
const MEMBERS = `
  insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence)
  select stream_id, pk, 'm-' || n, '{group}', 0 from extmsg_conversations, generate_series(1, $1::int - 1) n`;

function ofConversation(city: string, id: string): unknown[] {
  const { scope_id, provider, account_id, conversation_id, kind } = named(id);
  return [city, keyOf(named(id)), scope_id, provider, account_id, conversation_id, kind];
}

/** What one process takes messages with. */
function aProcess(): {
  receive: (intake: Intake) => Promise<InboundResult | undefined>;
  moved: Moved[];
  /** What was looked at, and what was taken without a look. */
  batches: (readonly Asked[])[];
  guesses: { expected: number; taken: number }[];
  /** Characters that members were told, by calls. */
  told: number[];
  repository: InboundRepository;
} {
  const streams = new MovedStreams();
  const moved: Moved[] = [];
  streams.listen((some) => moved.push(...some));
  const repository = new InboundRepository();
  const batches: (readonly Asked[])[] = [];
  const look = repository.look.bind(repository);
  repository.look = (tx, asked) => {
    batches.push(asked);
    return look(tx, asked);
  };
  const guesses: { expected: number; taken: number }[] = [];
  const told: number[] = [];
  const count = (takings: Iterable<Taking>): void => {
    told.push([...takings].flatMap(({ deliveries }) => deliveries).reduce((sum, { body }) => sum + body.length, 0));
  };
  const [take, takeKnown] = [repository.take.bind(repository), repository.takeKnown.bind(repository)];
  repository.take = (tx, takings, ...rest) => {
    count(takings.values());
    return take(tx, takings, ...rest);
  };
  repository.takeKnown = async (on, expected, records) => {
    count([...expected.values()].map(({ taking }) => taking));
    const taken = await takeKnown(on, expected, records);
    guesses.push({ expected: expected.size, taken: taken.length });
    return taken;
  };
  const telling = { hurry: () => undefined, hurryNow: () => undefined } as unknown as TellingService;
  const committer = new InboundCommitter(db, new Transactions(db, new Failpoints()), repository, telling, streams, new Metrics());
  return { receive: (intake) => committer.receive(intake), moved, batches, guesses, told, repository };
}

const message = (city: string, id: string, more: { conversation?: string; text?: string } = {}): Intake => ({
  ...{ city, conversation: named(more.conversation ?? 'one'), onceKey: `m:${id}`, caller: ANYBODY },
  message: {
    ...{ provider_message_id: id, text: more.text ?? 'Hello', received_at: '2026-01-01T00:00:00Z' },
    conversation: { ...named(more.conversation ?? 'one') },
    actor: { id: 'U1', display_name: 'Ann', is_bot: false },
  },
});

const texts = async (city: string): Promise<string[]> =>
  (
    await pool.query<{ text: string }>(
      `select e.text from extmsg_entries e join extmsg_conversations c on c.pk = e.conversation_pk join cities y on y.stream_id = c.stream_id
       where y.name = $1 order by c.pk, e.sequence`,
      [city],
    )
  ).rows.map(({ text }) => text);

describe('messages from outside that come together', () => {
  it('share few transactions, those of many cities, and each has its own entry, delivery, event and answer', async () => {
    for (const city of CITIES) await conversation(city, 'two');
    const [a, b] = [aProcess(), aProcess()];
    const sent = Array.from({ length: 200 }, (_, n) =>
      message(CITIES[n % 4]!, `m-${n}`, { text: `text ${n}`, conversation: n % 8 < 4 ? 'one' : 'two' }),
    );
    const answers = await Promise.all(sent.map((intake, n) => (n % 8 < 4 ? a : b).receive(intake)));
    answers.forEach((answer, n) =>
      expect(answer).toMatchObject({ TranscriptEntry: { Text: `text ${n}` }, TargetAgentName: 'mayor', Members: 1 }),
    );
    expect(a.batches.length + b.batches.length).toBeLessThan(40);
    for (const [nth, city] of CITIES.entries()) {
      for (const rest of [nth, nth + 4]) {
        const own = answers.filter((_, n) => n % 8 === rest).map((answer) => answer!.TranscriptEntry!.Sequence);
        expect(own).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
      }
      const { rows } = await pool.query(
        `select count(*)::int as events, max(seq)::int as head, (select count(*)::int from extmsg_deliveries d where d.stream_id = e.stream_id) as told
         from events e where type = 'extmsg.inbound' and stream_id = (select stream_id from cities where name = $1) group by e.stream_id`,
        [city],
      );
      expect(rows).toEqual([{ events: 50, head: 50, told: 50 }]);
      expect(Math.max(...[...a.moved, ...b.moved].filter(({ stream }) => stream === city).map(({ head }) => head))).toBe(50);
    }
  });

  it('are told in the order of their entries, in the order in which they came', async () => {
    const { receive } = aProcess();
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => receive(message('alpha', `m-${n}`, { text: `${n}` }))));
    expect(answers.map((answer) => answer!.TranscriptEntry!.Sequence)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    const { rows } = await pool.query<{ sequence: number }>('select sequence from extmsg_deliveries order by pk');
    expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  });

  // Guard: of those of one batch that come under one key one is taken.
  it('come once under one key, also of one batch', async () => {
    const { receive, batches } = aProcess();
    const answers = await Promise.all(Array.from({ length: 6 }, () => receive(message('alpha', 'same'))));
    expect(answers.map((answer) => answer!.Duplicate)).toEqual([undefined, true, true, true, true, true]);
    expect(new Set(answers.map((answer) => answer!.TranscriptEntry!.Sequence))).toEqual(new Set([1]));
    expect([batches[0]!.length, batches.length]).toEqual([6, 2]);
  });

  it('go to whom the one before them has addressed', async () => {
    await pool.query(`delete from extmsg_bindings`);
    await pool.query(
      `with g as (insert into extmsg_groups (stream_id, conversation_pk, id, mode, default_handle, fanout_enabled, fanout_untargeted,
           max_peer_publishes, max_peer_deliveries) select stream_id, pk, 'g' || pk, 'launcher', 'dev', false, false, 1, 1
         from extmsg_conversations returning pk, stream_id)
       insert into extmsg_participants (stream_id, group_pk, id, handle, agent_name)
       select stream_id, pk, handle || pk, handle, handle from g, unnest(array['dev', 'ops']) as handle`,
    );
    const { receive, batches } = aProcess();
    const to = (id: string, explicit_target?: string): Promise<InboundResult | undefined> => {
      const intake = message('alpha', id);
      return receive({ ...intake, message: { ...intake.message, ...(explicit_target === undefined ? {} : { explicit_target }) } });
    };
    const answers = await Promise.all([to('m-1'), to('m-2', 'ops'), to('m-3'), to('m-4', 'nobody')]);
    expect(answers.map((answer) => [answer!.GroupRoute!.Match, answer!.TargetAgentName])).toEqual([
      ['default', 'dev'],
      ['explicit_target', 'ops'],
      ['last_addressed', 'ops'],
      ['no_match', ''],
    ]);
    expect(batches).toHaveLength(1);
    expect((await to('m-5'))!.GroupRoute!.Match).toBe('last_addressed');
  });

  // Guard: what is taken is recorded with it, and what is not is not.
  it('leave a record of who has brought them where they are taken', async () => {
    const { receive } = aProcess();
    const brought = (city: string, id: string, nth: number) => {
      const request = new AuditedRequest({
        ...{ request_id: `r-${nth}`, key_id: 'k', actor: 'adapter', session_id: null, session_city: null, address: '::1', operation: 'op' },
        ...{ method: 'POST', path: '/p', city, ids: { n: `${nth}` }, status: 200, code: null, reason: null },
      });
      return onBehalfOf(request, () => receive(message(city, id))).then(() => request.recorded);
    };
    const recorded = await Promise.all([
      brought('alpha', 'm-1', 1),
      brought('beta', 'm-1', 2),
      brought('alpha', 'm-1', 3),
      brought('delta', 'm-2', 4),
    ]);
    expect(recorded).toEqual([true, true, false, true]);
    const { rows } = await pool.query('select request_id, actor, city, ids, status from audit_records order by request_id');
    expect(rows).toEqual(
      ['alpha', 'beta', 'delta'].map((city, n) => {
        const nth = [1, 2, 4][n]!;
        return { request_id: `r-${nth}`, actor: 'adapter', city, ids: { n: `${nth}` }, status: 200 };
      }),
    );
  });

  it('fail alone where one cannot be stored', async () => {
    const { receive } = aProcess();
    const settled = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => receive(message(CITIES[n % 4]!, `m-${n}`, { text: n === 5 ? 'a\0b' : `${n}` }))),
    );
    expect(settled.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([5]);
    expect((await Promise.all(CITIES.map(texts))).flat()).toHaveLength(11);
  });
});

describe('what is known of a conversation', () => {
  const sequence = (result: InboundResult | undefined): number | undefined => result?.TranscriptEntry?.Sequence;

  it('is looked at once, and then asked about with what is written', async () => {
    const { receive, batches, guesses, moved } = aProcess();
    for (let n = 1; n <= 3; n++) expect(sequence(await receive(message('alpha', `m-${n}`)))).toBe(n);
    const together = await Promise.all(Array.from({ length: 4 }, (_, n) => receive(message('alpha', `n-${n}`))));
    expect(together.map(sequence)).toEqual([4, 5, 6, 7]);
    expect(batches).toHaveLength(1);
    expect(guesses).toEqual([...[1, 1].map((taken) => ({ expected: taken, taken })), { expected: 4, taken: 4 }]);
    expect(moved.at(-1)).toEqual({ stream: 'alpha', head: 7 });
  });

  // Guard: what is only remembered decides nothing, and of a conversation that has changed nothing is taken.
  it('is nothing where somebody else has moved it, and what comes once comes once', async () => {
    const [a, b] = [aProcess(), aProcess()];
    expect(sequence(await a.receive(message('alpha', 'm-1')))).toBe(1);
    expect(sequence(await b.receive(message('alpha', 'm-2')))).toBe(2);
    expect(sequence(await a.receive(message('alpha', 'm-3')))).toBe(3);
    // One that has come before, and one that comes after it in the same batch.
    const answers = await Promise.all([a.receive(message('alpha', 'm-2')), a.receive(message('alpha', 'm-4'))]);
    expect(answers.map((one) => [sequence(one), one!.Duplicate])).toEqual([
      [2, true],
      [4, undefined],
    ]);
    expect(a.guesses.map(({ taken }) => taken)).toEqual([0, 0]);
    expect(await texts('alpha')).toHaveLength(4);
  });

  // Guard: messages that are not taken have no events.
  it('has an event where it is taken, and none where it has come before', async () => {
    const [a, b] = [aProcess(), aProcess()];
    for (const city of ['alpha', 'beta']) await a.receive(message(city, 'm-1'));
    await b.receive(message('alpha', 'm-2'));
    await Promise.all([a.receive(message('alpha', 'm-2')), a.receive(message('beta', 'm-2'))]);
    expect(a.guesses.at(-1)).toEqual({ expected: 2, taken: 1 });
    const { rows } = await pool.query(
      `select y.name, count(*)::integer as events from events e join cities y using (stream_id) where e.type = 'extmsg.inbound' group by 1 order by 1`,
    );
    expect(rows).toEqual(['alpha', 'beta'].map((name) => ({ name, events: 2 })));
  });

  it('has the event that others append, not before those that are there, whatever the clock says', async () => {
    const { receive } = aProcess();
    await receive(message('alpha', 'm-1'));
    await pool.query(`update event_streams set last_ts = '2100-01-01T00:00:00Z' where name = 'alpha'`);
    await receive(message('alpha', 'm-2'));
    const { rows } = await pool.query<{ size: number; payload: object }>(
      `select seq::int, ts, type, version, actor, subject, message, payload, run_id, session_id, size from events
       where stream_id = (select id from event_streams where name = 'alpha') and type = 'extmsg.inbound' order by seq desc limit 1`,
    );
    expect(rows[0]).toMatchObject({
      ...{ seq: 2, ts: new Date('2100-01-01T00:00:00Z'), type: 'extmsg.inbound', version: 1, actor: 'api', subject: 'mayor' },
      ...{ message: null, run_id: null, session_id: null },
      payload: { conversation_id: 'one', actor: 'Ann', target_agent: 'mayor', sequence: 2, members: 1 },
    });
    expect(rows[0]!.size).toBeGreaterThan(JSON.stringify(rows[0]!.payload).length / 2);
  });

  // Guard: who has a conversation now is told, and not who had it.
  it('is nothing where who is told has changed, or the city has stopped', async () => {
    const { receive, guesses } = aProcess();
    await receive(message('alpha', 'm-1'));
    await pool.query(`update extmsg_bindings set agent_name = 'deputy' where id = 'alphaone'`);
    expect((await receive(message('alpha', 'm-2')))!.TargetAgentName).toBe('deputy');
    await pool.query(`update extmsg_memberships set selector = 'deputy' where selector = 'mayor'`);
    await receive(message('alpha', 'm-3'));
    await pool.query(`update cities set running = false where name = 'alpha'`);
    expect(await receive(message('alpha', 'm-4'))).toBeUndefined();
    expect(guesses.map(({ taken }) => taken)).toEqual([0, 0, 0]);
    const { rows } = await pool.query(`select selector from extmsg_deliveries order by sequence`);
    expect(rows.map(({ selector }: { selector: string }) => selector)).toEqual(['mayor', 'mayor', 'deputy']);
  });

  it.each([
    ['a binding', `update extmsg_bindings set metadata = '{"a":1}'`],
    ['a binding that is gone', `delete from extmsg_bindings`],
    [
      'a member',
      `insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence)
      select stream_id, pk, 'deputy', '{group}', 0 from extmsg_conversations`,
    ],
    ['a member who has left', `update extmsg_memberships set closed_at = clock_timestamp()`],
    ['a group', MAKE_GROUP],
    ['a group that is gone', 'delete from extmsg_groups', MAKE_GROUP],
    ['a participant', MAKE_PARTICIPANT, MAKE_GROUP],
    ['a participant who is gone', 'delete from extmsg_participants', `${MAKE_GROUP}; ${MAKE_PARTICIPANT}`],
  ])('is another with %s', async (_what, change, there = '') => {
    await pool.query(there);
    const number = async (): Promise<number> =>
      (
        await pool.query<{ routing: number }>(
          `select c.routing from extmsg_conversations c join cities y using (stream_id) where y.name = 'alpha'`,
        )
      ).rows[0]!.routing;
    const before = await number();
    await pool.query(change);
    expect(await number()).toBeGreaterThan(before);
  });

  it('is what it was where a member has read it', async () => {
    const { receive, guesses } = aProcess();
    await receive(message('alpha', 'm-1'));
    await pool.query('update extmsg_memberships set last_read_sequence = 1');
    await receive(message('alpha', 'm-2'));
    expect(guesses).toEqual([{ expected: 1, taken: 1 }]);
  });

  // Guard: what is taken does not come again with what is not.
  it('is taken beside what cannot be stored', async () => {
    const { receive } = aProcess();
    await receive(message('alpha', 'm-1'));
    const settled = await Promise.allSettled([
      receive({ ...message('alpha', 'm-2'), onceKey: '' }),
      // In the same batch.
      receive(message('gamma', 'm-1', { text: 'a\0b' })),
      receive({ ...message('alpha', 'm-3'), onceKey: '' }),
    ]);
    expect(settled.map((one) => (one.status === 'fulfilled' ? sequence(one.value) : undefined))).toEqual([2, undefined, 3]);
    expect(await texts('alpha')).toHaveLength(3);
  });
});

describe('who has something locked', () => {
  // Guard: messages of other cities do not wait for the events of one.
  it('keeps nobody waiting in other cities, and not for good in its own', async () => {
    const { receive, batches } = aProcess();
    const holder = await pool.connect();
    await holder.query(`begin; select pg_advisory_xact_lock(1, stream_id) from cities where name = 'alpha'`);
    const held = Promise.all([1, 2, 3].map((n) => receive(message('alpha', `m-${n}`, { text: `${n}` }))));
    const others = await Promise.all(CITIES.slice(1).map((city) => receive(message(city, 'm-1'))));
    expect(others.map((answer) => answer!.TranscriptEntry!.Sequence)).toEqual([1, 1, 1]);
    // What comes after them comes after them.
    const later = receive(message('alpha', 'm-4', { text: '4' }));
    expect(await texts('alpha')).toEqual([]);
    await holder.query('rollback');
    holder.release();
    expect((await held).map((answer) => answer!.TranscriptEntry!.Sequence)).toEqual([1, 2, 3]);
    expect((await later)!.TranscriptEntry!.Sequence).toBe(4);
    expect(batches.flat().filter(({ city }) => city !== 'alpha')).toHaveLength(3);
  });

  // Guard: nobody waits for the conversation of somebody else.
  it('keeps its conversation from a batch, and no other', async () => {
    await conversation('alpha', 'two');
    const { receive } = aProcess();
    const holder = await pool.connect();
    await holder.query(`begin; select 1 from extmsg_conversations where conversation_id = 'two' for no key update`);
    const settled = await Promise.allSettled(
      ['two', 'one', 'two'].map((id, n) => receive(message('alpha', `m-${n}`, { conversation: id }))),
    );
    await holder.query('rollback');
    holder.release();
    const sequences = settled.map((one) => (one.status === 'fulfilled' ? one.value?.TranscriptEntry?.Sequence : one.reason));
    expect(sequences).toEqual([undefined, 1, undefined]);
  });

  it('fails what waits for the events of its city with 503, and nothing else', async () => {
    const { receive } = aProcess();
    const holder = await pool.connect();
    await holder.query(`begin; select pg_advisory_xact_lock(1, stream_id) from cities where name = 'alpha'`);
    const settled = await Promise.allSettled(CITIES.map((city) => receive(message(city, 'm-1'))));
    expect(settled.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : one.status))).toEqual([
      ...['55P03', 'fulfilled', 'fulfilled', 'fulfilled'],
    ]);
    await holder.query('rollback');
    holder.release();
    expect((await receive(message('alpha', 'm-1')))!.Duplicate).toBeUndefined();
  });
});

describe('a batch', () => {
  // Guard: who sends much does not keep others from a place in a batch.
  it('has some of each city where it cannot have all', async () => {
    const { receive, batches } = aProcess();
    const long = 'x'.repeat(100_000);
    // Two lanes have their cities for themselves, the last one takes what is left, which is too much for a batch.
    const floods = { alpha: 120, beta: 60, delta: 45 };
    const many = Object.entries(floods).flatMap(([city, count]) =>
      Array.from({ length: count }, (_, n) => receive(message(city, `m-${n}`, { text: long }))),
    );
    const few = receive(message('gamma', 'm'));
    await few;
    const its = batches.find((asked) => asked.some(({ city }) => city === 'gamma'))!;
    expect(batches.indexOf(its)).toBeLessThan(3);
    expect(new Set(its.map(({ city }) => city))).toEqual(new Set(['delta', 'gamma']));
    expect(its.length).toBeLessThan(45);
    await Promise.all(many);
    for (const [city, count] of Object.entries(floods)) expect(await texts(city)).toHaveLength(count);
  });

  // Guard: a batch of 3 MB of text told 40 members 585 MB.
  it('tells no more at once than a transaction can bear, in the order in which messages came', async () => {
    await conversation('alpha', 'two');
    const { receive, batches, told } = aProcess();
    await pool.query(MEMBERS, [40]);
    await pool.query(`delete from extmsg_memberships m using extmsg_conversations c
      where c.pk = m.conversation_pk and c.conversation_id = 'two' and m.selector like 'm-%' and substr(m.selector, 3)::int > 19`);
    const send = (conversation: string, from: number, count: number): Promise<InboundResult | undefined>[] =>
      Array.from({ length: count }, (_, n) =>
        receive(message('alpha', `${conversation}-${from + n}`, { conversation, text: `${from + n} ${'&'.repeat(20_000)}` })),
      );
    // Nobody knows how many are told, and then it is known.
    const many = await Promise.all(send('one', 1, 5));
    many.push(...(await Promise.all(send('one', 6, 2))));
    // It is known while some wait already.
    const looks = batches.length;
    const few = send('two', 1, 1);
    await eventually(() => Promise.resolve(batches.length > looks));
    few.push(...send('two', 2, 5));
    for (const [members, answers] of [
      [40, many],
      [20, await Promise.all(few)],
    ] as const)
      expect(answers.map((one) => [one!.Members, one!.TranscriptEntry!.Sequence, one!.TranscriptEntry!.Text.split(' ')[0]])).toEqual(
        answers.map((_, n) => [members, n + 1, `${n + 1}`]),
      );
    expect(Math.max(...told)).toBeLessThanOrEqual(8 << 20);
    const { rows } = await pool.query(`select count(*)::integer as count from extmsg_deliveries`);
    expect(rows).toEqual([{ count: 7 * 40 + 6 * 20 }]);
  });

  // Guard: where what is known cannot be asked about, each is tried again, and none is given up.
  it('is tried again in parts where nothing of it is taken, also of what had no room', async () => {
    const { receive, repository } = aProcess();
    await pool.query(MEMBERS, [20]);
    const send = (n: number): Promise<InboundResult | undefined> =>
      receive(message('alpha', `m-${n}`, { text: `${n} ${'&'.repeat(20_000)}` }));
    // What the room has is not known before the first of them is committed.
    let goOn = (): void => undefined;
    const look = repository.look.bind(repository);
    const begun = new Promise<void>((resolve) => {
      repository.look = async (...asked) => {
        repository.look = look;
        await new Promise<void>((go) => {
          goOn = go;
          resolve();
        });
        return look(...asked);
      };
    });
    const known = [send(1)];
    await begun;
    const takeKnown = repository.takeKnown.bind(repository);
    let failed = 0;
    repository.takeKnown = (...asked) => (failed++ === 0 ? Promise.reject(new Error('cannot be stored')) : takeKnown(...asked));
    known.push(...[2, 3, 4, 5, 6, 7].map(send));
    goOn();
    expect((await Promise.all(known)).map((one) => one?.TranscriptEntry?.Sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(failed).toBeGreaterThan(1);
  });

  // Guard: who has much to tell many in three cities does not keep the others.
  it('is of others soon, however much three cities tell their members', async () => {
    const { receive, told } = aProcess();
    await pool.query(MEMBERS, [40]);
    // Each is more than a batch holds.
    const heavy = (city: string, n: number): Promise<unknown> => receive(message(city, `m-${n}`, { text: '&'.repeat(22_000) }));
    const busy = ['alpha', 'beta', 'delta'];
    for (const city of busy) await heavy(city, 0);
    const before = told.length;
    const many = busy.flatMap((city) => Array.from({ length: 4 }, (_, n) => heavy(city, n + 1)));
    await receive(message('gamma', 'm'));
    expect(told.length - before).toBeLessThan(8);
    await Promise.all(many);
    for (const city of busy) expect(await texts(city)).toHaveLength(5);
  });

  // Guard: nobody waits for a batch of other cities while there is a lane.
  it('waits for none of other cities while there is a lane, but for the one of its own city', async () => {
    const { receive, batches } = aProcess();
    const holder = await pool.connect();
    await holder.query('begin; lock table extmsg_conversations');
    const received = [receive(message('alpha', 'm-1'))];
    try {
      await eventually(() => Promise.resolve(batches.length === 1));
      received.push(receive(message('alpha', 'm-2')), receive(message('beta', 'm-1')));
      await eventually(() => Promise.resolve(batches.length >= 2));
      expect(batches[1]!.map(({ city }) => city)).toEqual(['beta']);
    } finally {
      await holder.query('rollback');
      holder.release();
      await Promise.all(received);
    }
    expect((await Promise.all(received)).map((one) => one!.TranscriptEntry!.Sequence)).toEqual([1, 2, 1]);
  });
});

describe('one that waits', () => {
  // Guard: it has looked for a row to lock when there was none, and reads what was made since.
  it('has the lock of a conversation that is made while it looks', async () => {
    const repository = new InboundRepository();
    const maker = await pool.connect();
    // Between its two statements: the first finds nothing, the second waits for this.
    await maker.query('begin; lock table extmsg_entries in access exclusive mode');
    const found = new Transactions(db, new Failpoints()).run((tx) => repository.wait(tx, message('alpha', 'm-1', { conversation: 'new' })));
    await eventually(async () => {
      const { rowCount } = await pool.query(`select 1 from pg_locks where relation = 'extmsg_entries'::regclass and not granted`);
      return rowCount === 1;
    });
    await maker.query(MAKE_CONVERSATION, ofConversation('alpha', 'new'));
    await maker.query('commit');
    maker.release();
    expect(await found).toMatchObject({ busy: false, at: { conversation_id: 'new' }, binding: { agent_name: 'mayor' } });
  });
});

describe('what is looked at', () => {
  it('is a group and who is in it without their metadata, which may be long', async () => {
    await pool.query(
      `${MAKE_GROUP}; ${MAKE_PARTICIPANT}; update extmsg_groups set metadata = '{"k": "v"}'; update extmsg_participants set metadata = '{"k": "v"}'`,
    );
    const [found] = await new Transactions(db, new Failpoints()).run((tx) => new InboundRepository().look(tx, [message('alpha', 'm-1')]));
    expect(found).toMatchObject({ group: { mode: 'launcher' }, participants: [{ handle: 'a', agent_name: 'mayor' }] });
    expect([found!.group, ...found!.participants].filter((each) => 'metadata' in each!)).toEqual([]);
  });
});
