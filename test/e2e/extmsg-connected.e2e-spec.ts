import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { testRedisUrl } from '../support/app.js';
import { startSvc, svc, type Cli } from '../support/cli.js';
import { ExtmsgCity, queryOf, type Conversation } from '../support/extmsg-city.js';
import { ExtmsgClient, type Given } from '../support/extmsg-client.js';
import { api, outcome, type Reply } from '../support/http.js';
import { SlowClient } from '../support/slow-client.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

/** Adapters without an address, at two replicas with a worker: each test has an account, and so an adapter, of its own. */
let city: ExtmsgCity;
let one: string;
let two: string;
let made = 0;
const open: { close(): unknown }[] = [];
/** Longer than any test: what is to end is moved, or told to be short. */
const CLAIM_MS = 600_000;

beforeAll(async () => {
  city = await ExtmsgCity.open({ workers: 1 });
  [one, two] = [await city.session(), await city.session()];
  usual();
});
afterEach(async () => {
  usual();
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => city?.close());

const usual = (): void =>
  city.timings({ pauseMs: 20, longestMs: 50, answerMs: 90_000, claimMs: CLAIM_MS, attempts: 10, offers: 20, renewMs: 250 });
const [A, B] = [0, 1];
const at = (replica: number): string => city.stack.urls[replica]!;

interface Account {
  readonly account: string;
  readonly token: string;
}

async function adapter(more: object = {}): Promise<Account> {
  const account = `acc-${++made}`;
  const { token } = await city.register({ account_id: account, callback_url: undefined, transport: 'stream', ...more });
  return { account, token };
}
async function connect({ token }: Account, replica: number | string = A, after?: string): Promise<ExtmsgClient> {
  const client = await ExtmsgClient.connect(typeof replica === 'string' ? replica : at(replica), token, { after });
  open.push(client);
  expect(client.status).toBe(200);
  await client.stream.until(({ event }) => event === 'heartbeat');
  return client;
}
async function bound({ account }: Account, session = one): Promise<Conversation> {
  const conversation = city.conversation({ account_id: account });
  expect(outcome(await city.a.post(city.ext('bind'), { conversation, session_id: session }))).toBe(200);
  return conversation;
}
const send = (conversation: Conversation, text: string, more: object = {}, replica = A): Promise<Reply> =>
  api(at(replica)).post(city.ext('outbound'), { session_id: one, conversation, text, ...more });
const states = async (c: Conversation): Promise<unknown[]> =>
  (await city.deliveries(c.conversation_id)).map(({ text, state, error_code }) => [
    text,
    state,
    ...(error_code === undefined ? [] : [error_code]),
  ]);
const said = async (c: Conversation): Promise<[string, string][]> => {
  const { items } = (await city.b.get(city.ext(`transcript?${queryOf(c)}`))).body as { items: any[] };
  return items.map(({ Text, ProviderMessageID }) => [Text, ProviderMessageID]);
};
const refused = (reply: Reply, status: number, detail: RegExp): void =>
  expect({ status: reply.status, detail: reply.body?.detail }).toEqual({ status, detail: expect.stringMatching(detail) });

describe('a connected client', () => {
  it('is given what is published, and the answer to who publishes waits for its acknowledgement', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const reply = send({ ...c, provider: 'Slack' }, ' Hi ', { reply_to_message_id: 'm-0', idempotency_key: 'k1' });
    const client = await connect(mine, B);
    const given = await client.until(() => true);
    expect(given).toEqual({
      ...{ id: expect.stringMatching(/^dlv-/), claim: expect.stringMatching(/^claim-/), claim_until: expect.any(String), attempt: 1 },
      ...{ session_id: one, text: ' Hi ', reply_to_message_id: 'm-0', idempotency_key: 'k1', metadata: { source_session_id: one } },
      conversation: { ...c, provider: 'Slack' },
    });
    const acked = await client.ack(at(A), given, { delivered: true, message_id: 'p-1', metadata: { edited: 'no' } });
    expect(acked.body).toMatchObject({ id: given.id, state: 'delivered', sequence: 1, attempts: 1 });
    expect((await reply).body).toMatchObject({
      Receipt: { MessageID: 'p-1', Delivered: true, FailureKind: '', Metadata: { edited: 'no' } },
      DeliveryContext: { SessionID: one, BindingGeneration: 1, LastMessageID: 'p-1' },
      TranscriptEntry: { Sequence: 1, Text: 'Hi', ProviderMessageID: 'p-1' },
    });
    // The first answer counts; the same again changes nothing, and one under another claim is told so.
    expect((await client.ack(at(B), given, { delivered: true, message_id: 'p-2' })).body).toMatchObject({ state: 'delivered' });
    refused(
      await client.ack(at(A), { ...given, claim: 'claim-of-nobody' }),
      409,
      /^conflict: the claim has ended: publication dlv-\w+ is delivered$/,
    );
    expect(await said(c)).toEqual([['Hi', 'p-1']]);
    expect(await city.events('extmsg.outbound', c.conversation_id)).toHaveLength(1);
  });

  // Guard: who takes publications away from others is on record, as who changes something is.
  it('leaves a record of its stream, also of one that it is refused, and of what it has acknowledged', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const client = await connect(mine, B);
    const asking = api(at(A), { Authorization: `Bearer ${mine.token}`, 'X-SVC-Request': 'test' });
    expect((await asking.get(city.ext('publications/stream?after_cursor=nowhere'))).body.code).toBe('invalid-cursor');
    const reply = send(c, 'x');
    const given = await client.until(() => true);
    await client.ack(at(A), given, { delivered: true, message_id: 'p-1' });
    await reply;
    const records = await eventually(async () => {
      const rows = await city.sql<{ operation: string; method: string; status: number; ids: object }>(
        `select operation, method, status, ids from audit_records where actor like 'adapter:%/${mine.account}' order by id`,
      );
      return rows.length >= 3 && rows;
    });
    expect(records).toEqual([
      { operation: 'stream-extmsg-publications', method: 'GET', status: 200, ids: {} },
      { operation: 'stream-extmsg-publications', method: 'GET', status: 400, ids: {} },
      { operation: 'acknowledge-extmsg-publication', method: 'POST', status: 200, ids: { id: given.id } },
    ]);
  });

  it('says what has failed: for a while, and it is offered again; for good, and it has failed', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const client = await connect(mine);
    const reply = send(c, 'x');
    const first = await client.until(({ attempt }) => attempt === 1);
    expect((await client.ack(at(A), first, { delivered: false, failure_kind: 'rate_limited', retry_after: 1_000_000 })).body).toMatchObject(
      {
        ...{ state: 'pending', error_code: 'rate_limited', error: 'rate_limited' },
      },
    );
    const second = await client.until(({ attempt }) => attempt === 2);
    expect([second.id, second.idempotency_key, second.claim === first.claim]).toEqual([first.id, first.idempotency_key, false]);
    refused(await client.ack(at(A), first), 409, /is pending, and another has it$/);
    await client.ack(at(B), second, { delivered: false, failure_kind: 'auth', error: 'signed out' });
    expect((await reply).body).toMatchObject({
      Receipt: { Delivered: false, FailureKind: 'auth', Error: 'signed out' },
      TranscriptEntry: null,
    });
    expect((await city.events('extmsg.delivery_failed', c.conversation_id)).map(({ payload }) => payload)).toMatchObject([
      { delivery_id: first.id, error_code: 'auth' },
    ]);
    // Tried again by somebody, it is offered from the start.
    expect(outcome(await city.b.post(city.ext(`delivery/${first.id}/retry`)))).toBe(200);
    const third = await client.until((given) => given.attempt === 1 && given.claim !== first.claim);
    expect((await client.ack(at(A), third)).body).toMatchObject({ state: 'delivered' });
    for (const [body, why] of [
      [{ delivered: true, failure_kind: 'transient' }, /what was delivered has no failure_kind/],
      [{ delivered: false }, /what was not delivered needs a failure_kind/],
    ] as const)
      refused(await client.ack(at(A), third, body), 422, why);
  });

  it('says that it was delivered after all, and it is not offered again', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const client = await connect(mine);
    const reply = send(c, 'x');
    const given = await client.until(() => true);
    const later = { delivered: false, failure_kind: 'rate_limited', retry_after: 60_000_000_000 };
    expect((await client.ack(at(A), given, later)).body).toMatchObject({ state: 'pending' });
    // What was not delivered has been said.
    expect((await client.ack(at(B), given, { ...later, failure_kind: 'auth' })).body).toMatchObject({
      ...{ state: 'pending', error_code: 'rate_limited' },
    });
    expect((await client.ack(at(B), given, { delivered: true, message_id: 'p-1' })).body).toMatchObject({
      state: 'delivered',
      sequence: 1,
    });
    expect((await reply).body).toMatchObject({ Receipt: { MessageID: 'p-1', Delivered: true } });
  });

  it('that reports failure for too long has failed', async () => {
    city.timings({ offers: 2 });
    const mine = await adapter();
    const c = await bound(mine);
    const client = await connect(mine);
    const reply = send(c, 'x');
    for (const attempt of [1, 2])
      await client.ack(at(A), await client.until((given) => given.attempt === attempt), { delivered: false, failure_kind: 'transient' });
    expect((await reply).body.Receipt).toMatchObject({ Delivered: false, FailureKind: 'transient' });
    expect(client.given).toHaveLength(2);
    expect((await city.a.get(city.ext('adapters'))).body.items).toContainEqual(
      expect.objectContaining({ account_id: mine.account, transport: 'stream', connections: 1, health: 'ok', last_error: 'transient' }),
    );
  });

  it('nobody of which comes in time has failed: a worker says so', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const reply = send(c, 'x');
    await eventually(async () => (await states(c)).length === 1);
    expect(await states(c)).toEqual([['x', 'pending']]);
    await city.sql(`update extmsg_deliveries set deadline = now() - interval '1 second' where body = 'x' and state = 'pending'`);
    expect((await reply).body.Receipt).toMatchObject({ FailureKind: 'transient', Error: 'no client of the adapter has taken it' });
    expect(await states(c)).toEqual([['x', 'failed', 'transient']]);
  });
});

describe('several clients of one adapter', () => {
  // Guards: one has a publication at a time; the next of a conversation waits for the one before.
  it('share what is published: each gets to one, in the order of its conversation', async () => {
    const mine = await adapter();
    const clients = await Promise.all([connect(mine, A), connect(mine, B), connect(mine, B)]);
    const conversations = await Promise.all(Array.from({ length: 6 }, () => bound(mine)));
    const taken: Given[] = [];
    const flying = new Set<string>();
    const wrong: unknown[] = [];
    const work = clients.map(async (client, n) => {
      for (let done = 0; ; done++) {
        const given = (await client.untilGiven(done + 1))[done]!;
        const { conversation_id: where } = given.conversation;
        if (flying.has(where)) wrong.push(given);
        flying.add(where);
        taken.push(given);
        // Once it is answered the next may come, before we hear of the answer.
        setImmediate(() => flying.delete(where));
        const acked = await client.ack(at(n % 2), given, { delivered: true, message_id: `m-${given.id}` });
        if (acked.status !== 200) wrong.push(acked.text);
      }
    });
    await Promise.all(
      conversations.map(async (c, n) => {
        // Two at once: both wait in the line of their conversation.
        for (let m = 0; m < 4; m += 2) await Promise.all([send(c, `${m}`, {}, n % 2), send(c, `${m + 1}`, {}, n % 2)]);
      }),
    );
    await Promise.all(clients.map((client) => client.close()));
    await Promise.allSettled(work);
    expect(wrong).toEqual([]);
    expect([taken.length, new Set(taken.map(({ id }) => id)).size]).toEqual([24, 24]);
    for (const c of conversations) {
      const ids = (await city.deliveries(c.conversation_id)).map(({ id }) => `m-${id as string}`);
      expect((await said(c)).map(([, message]) => message)).toEqual(ids);
    }
  });

  // Guard: a claim has an end.
  it('have a publication until the claim ends: then another gets it, and the answer of the first comes too late', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const first = await connect(mine, A);
    const reply = send(c, 'x');
    const given = await first.until(() => true);
    const second = await connect(mine, B);
    const other = await bound(mine);
    void send(other, 'y');
    // What comes after it has been looked at by both.
    await Promise.any([first, second].map((client) => client.until(({ text }) => text === 'y')));
    expect(second.given.filter(({ id }) => id === given.id)).toEqual([]);
    await first.close();
    await city.sql(`update extmsg_deliveries set lease_until = now() - interval '1 second' where id = $1`, [given.id]);
    const again = await second.until(({ id }) => id === given.id);
    expect([again.attempt, again.idempotency_key]).toEqual([2, given.idempotency_key]);
    refused(await first.ack(at(A), given, { delivered: true, message_id: 'late' }), 409, /another has it$/);
    await second.ack(at(A), again, { delivered: true, message_id: 'right' });
    expect((await reply).body.Receipt).toMatchObject({ Delivered: true, MessageID: 'right' });
    expect(await said(c)).toEqual([['x', 'right']]);
    expect((await city.a.get(city.ext('adapters'))).body.items.find(({ account_id }: any) => account_id === mine.account)).toMatchObject({
      health: 'ok',
      connections: 1,
    });
  });
});

describe('a client that answers nothing', () => {
  // Guard: another of its adapter comes before it.
  it('gets nothing more while another answers, and something again when it is alone', async () => {
    const mine = await adapter();
    city.timings({ answerMs: 0 });
    const silent = await connect(mine, A);
    const publications = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await send(await bound(mine), 'x');
    };
    await publications(6);
    await silent.untilGiven(6);
    const fast = await connect(mine, B);
    const acked = new Set<string>();
    const answers = async (count: number): Promise<void> => {
      await eventually(async () => {
        for (const given of fast.given.filter(({ id }) => !acked.has(id))) {
          acked.add(given.id);
          expect(outcome(await fast.ack(at(A), given))).toBe(200);
        }
        await city.sql(`update extmsg_deliveries set lease_until = now() - interval '1 second' where worker = $1 and state = 'pending'`, [
          silent.last!.split('.')[0],
        ]);
        return acked.size === count;
      });
    };
    await answers(6);
    const before = silent.given.length;
    await publications(8);
    await answers(14);
    expect(silent.given).toHaveLength(before);
    await fast.close();
    await eventually(
      async () => (await city.sql('select 1 from extmsg_connections where id = $1', [fast.last!.split('.')[0]])).length === 0,
    );
    await publications(1);
    await silent.untilGiven(before + 1);
  });
});

describe('a replica that is killed while it serves a stream', () => {
  it('loses nothing: the client goes on at another with what it has not acknowledged, and nobody gets it twice', async () => {
    const mine = await adapter();
    const replica = spawnSupervisor({
      ...{ SVC_ROLE: 'api', SVC_DATABASE_URL: city.stack.databaseUrl, SVC_CITIES_ROOT: city.stack.citiesRoot },
      ...{ SVC_DATA_DIR: city.stack.config.dataDir, ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }) },
    });
    const url = await replica.ready();
    const [c, d] = [await bound(mine), await bound(mine)];
    const doomed = await ExtmsgClient.connect(url, mine.token);
    await doomed.stream.until(({ event }) => event === 'heartbeat');
    const replies = [send(c, 'first'), send(d, 'other')];
    await doomed.untilGiven(2);
    const [kept, answered] = [doomed.given.find(({ text }) => text === 'first')!, doomed.given.find(({ text }) => text === 'other')!];
    const next = send(c, 'second');
    await eventually(async () => (await states(c)).length === 2);
    replica.child.kill('SIGKILL');
    await replica.exited;
    await doomed.stream.untilEnd().catch(() => undefined);
    // Somebody else of the adapter gets what is new, and nothing that is the client's still.
    const beside = await connect(mine, A);
    const e = await bound(mine);
    const third = send(e, 'third');
    await beside.ack(at(A), await beside.until(({ text }) => text === 'third'));
    expect((await third).body.Receipt.Delivered).toBe(true);
    expect(beside.given.map(({ text }) => text)).toEqual(['third']);
    // What it had published it says at another replica, before it is there again.
    expect((await doomed.ack(at(A), answered, { delivered: true, message_id: 'm-other' })).body).toMatchObject({ state: 'delivered' });
    const resumed = await connect(mine, B, doomed.last);
    const again = await resumed.until(() => true);
    expect([again.id, again.claim, again.attempt]).toEqual([kept.id, kept.claim, 2]);
    await resumed.ack(at(A), again, { delivered: true, message_id: 'm-first' });
    const after = await Promise.any(
      [resumed, beside].map(async (client) => ({ client, given: await client.until(({ text }) => text === 'second') })),
    );
    await after.client.ack(at(B), after.given, { delivered: true, message_id: 'm-second' });
    expect((await Promise.all([...replies, next])).map(({ body }) => body.Receipt.MessageID)).toEqual(['m-first', 'm-other', 'm-second']);
    expect([...resumed.given, ...beside.given].filter(({ id }) => id === answered.id)).toEqual([]);
    expect([await said(c), await said(d)]).toEqual([
      [
        ['first', 'm-first'],
        ['second', 'm-second'],
      ],
      [['other', 'm-other']],
    ]);
    await doomed.close().catch(() => undefined);
  });

  it('and what one has given away and could not write is written after all', async () => {
    const mine = await adapter();
    const [c, d] = [await bound(mine), await bound(mine)];
    const client = await connect(mine, A);
    const failpoints = city.stack.failpoints[A]!;
    let failed = 0;
    failpoints.arm('extmsg.offered', () => {
      if (++failed < 3) throw new Error('the connection breaks after the commit');
    });
    try {
      const replies = [send(c, 'x'), send(d, 'y')];
      for (const given of await client.untilGiven(2)) await client.ack(at(B), given);
      expect((await Promise.all(replies)).map(({ body }) => body.Receipt.Delivered)).toEqual([true, true]);
      expect(client.given.map(({ attempt }) => attempt)).toEqual([1, 1]);
    } finally {
      failpoints.disarm();
    }
  });

  it('and one that stops in good order, too', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const leaving = await city.stack.add('api');
    const client = await connect(mine, leaving.url);
    const reply = send(c, 'x');
    const given = await client.until(() => true);
    await leaving.stop();
    await client.stream.untilEnd();
    const resumed = await connect(mine, B, client.last);
    expect((await resumed.until(() => true)).claim).toBe(given.claim);
    await resumed.ack(at(A), given, { delivered: true, message_id: 'm' });
    expect((await reply).body.Receipt.MessageID).toBe('m');
  });
});

describe('handing over', () => {
  // Guard: what is offered is fenced by the binding.
  it('keeps what waits from being offered, and what comes after it is', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const late = send(c, 'late');
    await eventually(async () => (await states(c)).length === 1);
    expect(outcome(await city.b.post(city.ext('bind'), { conversation: c, session_id: two, replace: true }))).toBe(200);
    const mineNow = send(c, 'mine now', { session_id: two });
    const client = await connect(mine, B);
    await client.ack(at(A), await client.until(() => true));
    expect((await late).body).toMatchObject({ Receipt: { Delivered: false, FailureKind: 'fenced' }, TranscriptEntry: null });
    expect((await mineNow).body.Receipt.Delivered).toBe(true);
    expect(client.given.map(({ text }) => text)).toEqual(['mine now']);
  });

  it('and what a client has is published, unless its stream has ended before it has said so', async () => {
    const mine = await adapter();
    const [c, d] = [await bound(mine), await bound(mine)];
    const client = await connect(mine, A);
    const [published, lost] = [send(c, 'published'), send(d, 'lost')];
    await client.untilGiven(2);
    for (const conversation of [c, d]) await city.a.post(city.ext('bind'), { conversation, session_id: two, replace: true });
    await client.ack(
      at(B),
      client.given.find(({ text }) => text === 'published')!,
    );
    expect((await published).body.Receipt.Delivered).toBe(true);
    await client.close();
    const resumed = await connect(mine, B, client.last);
    expect((await lost).body.Receipt.FailureKind).toBe('fenced');
    expect(resumed.given).toEqual([]);
  });
});

describe('bounds', () => {
  // Guard: what a connection has in flight is limited.
  it('32 publications, and a megabyte of them, are in flight', async () => {
    const [many, large] = [await adapter(), await adapter()];
    const [clientOfMany, clientOfLarge] = [await connect(many), await connect(large)];
    const all = async (mine: Account, count: number, text: string): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, async () => void send(await bound(mine), text).catch(() => undefined)));
    city.timings({ answerMs: 0 });
    await all(many, 34, 'x');
    await all(large, 18, 'x'.repeat(65_000));
    const rest = async ({ account }: Account): Promise<number> =>
      (
        await city.sql(
          `select 1 from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk where c.account_id = $1 and d.worker is null`,
          [account],
        )
      ).length;
    await clientOfMany.untilGiven(32);
    await clientOfLarge.untilGiven(16);
    await eventually(async () => (await rest(many)) === 2 && (await rest(large)) === 2);
    // What is acknowledged makes room; nothing more has come until then.
    expect([clientOfMany.given.length, clientOfLarge.given.length]).toEqual([32, 16]);
    await clientOfMany.ack(at(B), clientOfMany.given[0]!);
    await clientOfLarge.ack(at(B), clientOfLarge.given[0]!);
    await clientOfMany.untilGiven(33);
    await clientOfLarge.untilGiven(17);
    expect([clientOfMany.given.length, clientOfLarge.given.length]).toEqual([33, 17]);
  });

  // Guard: streams of an adapter are counted for all replicas.
  it('an adapter has eight streams, of all replicas together', async () => {
    const mine = await adapter();
    const another = async (replica: number): Promise<ExtmsgClient> => {
      const client = await ExtmsgClient.connect(at(replica), mine.token);
      open.push(client);
      return client;
    };
    const opened = await Promise.all(Array.from({ length: 7 }, (_, n) => another(n % 2)));
    expect(opened.map(({ status }) => status)).toEqual(Array(7).fill(200));
    // The eighth has been counted and is not committed; the ninth waits for it.
    const [counted, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    city.stack.failpoints[A]!.arm('tx.before_commit', () => {
      counted.resolve();
      return released.promise;
    });
    const eighth = another(A);
    await counted.promise;
    const ninth = another(B);
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await Promise.race([ninth, eventually(async () => (await city.sql(waits)).length > 0)]);
    city.stack.failpoints[A]!.disarm();
    released.resolve();
    expect([(await eighth).status, (await ninth).status]).toEqual([200, 409]);
    refused(
      await api(at(B)).get(city.ext('publications/stream'), { Authorization: `Bearer ${mine.token}`, 'X-SVC-Request': 'x' }),
      409,
      /has 8 streams open already$/,
    );
    await opened[0]!.close();
    await eventually(async () => (await another(B)).status === 200);
  });

  it('2,000 publications wait for clients of one adapter', async () => {
    const mine = await adapter();
    const [c, d] = [await bound(mine), await bound(mine)];
    city.timings({ answerMs: 0 });
    await send(c, 'x');
    await city.sql(
      `insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, session_pk, session_id, body, conversation, deadline, generation, root, for_clients_of)
       select stream_id, conversation_pk, 'dlv-many-' || n, direction, session_pk, session_id, body, conversation, deadline, generation, root, for_clients_of
       from extmsg_deliveries d, generate_series(1, 1999) n where d.id = $1`,
      [(await city.deliveries(c.conversation_id))[0].id],
    );
    refused(await send(d, 'x'), 409, /^conflict: 2000 publications wait for a client of slack\/acc-\d+ already$/);
    await city.sql(`delete from extmsg_deliveries where id like 'dlv-many-%'`);
  });

  it('a client that reads nothing keeps nobody waiting, and what it has goes to another', async () => {
    const [mine, others] = [await adapter(), await adapter()];
    const slow = await SlowClient.open(`${at(A)}${city.ext('publications/stream')}`, {
      Authorization: `Bearer ${mine.token}`,
      'X-SVC-Request': 'test',
    });
    open.push(slow);
    city.timings({ answerMs: 0 });
    const conversations = await Promise.all(Array.from({ length: 24 }, () => bound(mine)));
    for (const c of conversations) await send(c, 'x'.repeat(60_000));
    const held = (): Promise<object[]> =>
      city.sql(
        `select 1 from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk where c.account_id = $1 and d.worker is not null`,
        [mine.account],
      );
    await eventually(async () => (await held()).length > 0);
    city.timings({ answerMs: 90_000 });
    // Another adapter, at the same replica.
    const beside = await connect(others, A);
    const reply = send(await bound(others), 'y');
    await beside.ack(at(A), await beside.until(() => true));
    expect((await reply).body.Receipt.Delivered).toBe(true);
    // The same adapter elsewhere: what nobody has, and what the slow one has once its claims have ended.
    const fast = await connect(mine, B);
    const work = async (): Promise<void> => {
      for (let done = 0; done < conversations.length; done++) {
        const given = (await fast.untilGiven(done + 1))[done]!;
        expect(outcome(await fast.ack(at(B), given))).toBe(200);
      }
    };
    const working = work();
    await eventually(async () => {
      await city.sql(
        `update extmsg_deliveries d set lease_until = now() - interval '1 second' from extmsg_conversations c
         where c.pk = d.conversation_pk and c.account_id = $1 and d.worker <> $2 and d.state = 'pending'`,
        [mine.account, fast.last!.split('.')[0]],
      );
      return fast.given.length === conversations.length;
    });
    await working;
    const ended = await city.sql(
      `select d.state, count(*)::int as count, count(distinct c.pk)::int as places from extmsg_deliveries d
       join extmsg_conversations c on c.pk = d.conversation_pk where c.account_id = $1 group by d.state`,
      [mine.account],
    );
    expect(ended).toEqual([{ state: 'delivered', count: 24, places: 24 }]);
  });
});

describe('who may connect', () => {
  // Guards: it is asked of it what is asked of a change; an adapter takes what is its own.
  it('is an adapter for itself, and a key that may operate', async () => {
    const [mine, other] = [await adapter(), await adapter()];
    const path = city.ext('publications/stream');
    const as = (token: string, query = '', headers: object = { 'X-SVC-Request': 'test' }): Promise<Reply> =>
      api(at(A)).get(`${path}${query}`, { Authorization: `Bearer ${token}`, ...headers });
    refused(await as(mine.token, `?provider=slack&account_id=${other.account}`), 403, /this token speaks for slack\/acc-\d+ only$/);
    refused(await as(mine.token, '', {}), 403, /^csrf: /);
    refused(await as(mine.token, '', { 'X-SVC-Request': 'x', Origin: 'https://elsewhere.example' }), 403, /^origin_not_allowed: /);
    refused(await as(mine.token, '?after_cursor=7'), 400, /^invalid_cursor: after_cursor is not a position of this stream/);
    refused(await as('sva_1_00000000000000000000000000000000'), 401, /^unauthorized: /);
    const { token } = await city.register({ account_id: `called-${made}` });
    refused(await as(token), 409, /takes no stream: register it with transport "stream"$/);
    const nobody = { Authorization: undefined, 'X-SVC-Request': 'x' };
    refused(await api(at(A)).get(path, nobody), 422, /provider is required$/);
    refused(await api(at(A)).get(`${path}?provider=slack`, nobody), 422, /account_id is required$/);
    refused(await api(at(A)).get(`${path}?provider=none&account_id=x`, nobody), 422, /no adapter for none\/x$/);
    refused(
      await city.a.post(city.ext('adapters'), { provider: 'slack', account_id: 'x', transport: 'stream', callback_url: city.adapter.url }),
      422,
      /has no callback_url$/,
    );
    const c = await bound(mine);
    const reply = send(c, 'x');
    const client = await connect(mine);
    const given = await client.until(() => true);
    const stranger = await connect(other);
    refused(await stranger.ack(at(A), given), 404, new RegExp(`publication ${given.id} not found$`));
    refused(await client.ack(at(A), { ...given, id: 'dlv-none' }), 404, /publication dlv-none not found$/);
    expect(outcome(await city.a.post(city.ext(`publication/${given.id}/ack`), { claim: given.claim, delivered: true }))).toBe(200);
    expect((await reply).body.Receipt.Delivered).toBe(true);
  });

  it('ends with the adapter, with another token for it, and with another way to take what is published', async () => {
    for (const end of [
      (account_id: string) => city.a.delete(city.ext('adapters'), { provider: 'slack', account_id }),
      (account_id: string) =>
        city.a.post(city.ext('adapters'), { provider: 'slack', account_id, transport: 'stream', rotate_secret: true }),
      (account_id: string) => city.a.post(city.ext('adapters'), { provider: 'slack', account_id }),
    ]) {
      const mine = await adapter();
      const client = await connect(mine, B);
      expect((await end(mine.account)).status).toBeLessThan(300);
      await client.stream.untilEnd();
    }
  });

  it('goes, or takes streams no more: what waits is for a worker at once', async () => {
    city.timings({ answerMs: 0 });
    for (const end of [
      (account_id: string) => city.a.delete(city.ext('adapters'), { provider: 'slack', account_id }),
      (account_id: string) => city.a.post(city.ext('adapters'), { provider: 'slack', account_id }),
    ]) {
      const mine = await adapter();
      const c = await bound(mine);
      await send(c, 'x');
      const marks = (): Promise<{ marked: boolean }[]> =>
        city.sql('select for_clients_of is not null as marked from extmsg_deliveries where id = $1', [id]);
      const [{ id }] = await city.deliveries(c.conversation_id);
      expect(await marks()).toEqual([{ marked: true }]);
      expect((await end(mine.account)).status).toBeLessThan(300);
      expect(await marks()).toEqual([{ marked: false }]);
    }
  });

  it('goes on while somebody has its row: it is renewed later', async () => {
    const mine = await adapter();
    const [client, beside] = [await connect(mine, A), await connect(mine, A)];
    const [id, other] = [client, beside].map(({ last }) => last!.split('.')[0]);
    const until = async (): Promise<Date> =>
      (await city.sql<{ lease_until: Date }>('select lease_until from extmsg_connections where id = $1', [other]))[0]!.lease_until;
    const holder = new pg.Client({ connectionString: city.stack.databaseUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from extmsg_connections where id = $1 for update', [id]);
      for (let n = 0; n < 2; n++) {
        const before = await until();
        await eventually(async () => (await until()) > before);
      }
    } finally {
      await holder.end();
    }
    await beside.close();
    const reply = send(await bound(mine), 'x');
    await client.ack(at(B), await client.until(() => true));
    expect((await reply).body.Receipt.Delivered).toBe(true);
  });

  it('is told in the list, as long as it reads', async () => {
    const mine = await adapter({ lease_seconds: 30 });
    const health = async (): Promise<object> =>
      (await city.b.get(city.ext('adapters'))).body.items.find(({ account_id }: any) => account_id === mine.account);
    expect(await health()).toMatchObject({ health: 'disconnected', connections: 0, transport: 'stream' });
    const client = await connect(mine);
    expect(await health()).toMatchObject({ health: 'ok', connections: 1 });
    // It is seen as long as its stream is open.
    await city.sql(`update extmsg_adapters set last_seen_at = now() - interval '1 minute' where account_id = $1`, [mine.account]);
    expect(await eventually(async () => ((await health()) as any).health === 'ok' && health())).toMatchObject({ health: 'ok' });
    await client.close();
    await eventually(async () => ((await health()) as any).health === 'disconnected');
    await city.sql(`update extmsg_adapters set last_seen_at = now() - interval '1 minute' where account_id = $1`, [mine.account]);
    expect(await health()).toMatchObject({ health: 'stale', connections: 0 });
  });
});

describe('svc extmsg connect', () => {
  const begin = (mine: Account, ...args: string[]): Cli => {
    const cli = startSvc(['extmsg', 'connect', ...args], { env: { SVC_API_URL: at(B), SVC_CITY: 'alpha', SVC_API_KEY: mine.token } });
    open.push({ close: () => (cli.interrupt(), cli.exited) });
    return cli;
  };

  it('prints what is published, which counts as published then', async () => {
    const mine = await adapter();
    const [c, d] = [await bound(mine), await bound(mine)];
    const cli = begin(mine, '--count', '2');
    const first = (await send(c, 'one\u001b[2J')).body;
    expect(first).toMatchObject({ Receipt: { Delivered: true, MessageID: first.DeliveryID }, TranscriptEntry: { Sequence: 1 } });
    await send(d, 'two');
    const { code, stdout } = await cli.exited;
    expect([code, stdout.split('\n')]).toEqual([
      0,
      [
        `slack/${mine.account}/${c.conversation_id} (room) ${one}: one␛[2J`,
        `slack/${mine.account}/${d.conversation_id} (room) ${one}: two`,
        '',
      ],
    ]);
    const listed = await svc(['extmsg', 'adapter', 'list'], { env: { SVC_API_URL: at(A), SVC_CITY: 'alpha' } });
    expect(listed.stdout).toMatch(new RegExp(`^slack +${mine.account} +slack/${mine.account} +(ok|disconnected) .* [01] streams?`, 'm'));
  });

  it('has a command publish, which says what has become of it', async () => {
    const mine = await adapter();
    const c = await bound(mine);
    const command = `read -r p; case "$p" in *later*) case "$p" in *'"attempt":1'*) echo busy >&2; exit 75;; esac;; *never*) echo no such room >&2; exit 1;; esac; echo id-$$`;
    const cli = begin(mine, '--exec', command, '--json');
    expect((await send(c, 'now')).body.Receipt).toMatchObject({ Delivered: true, MessageID: expect.stringMatching(/^id-\d+$/) });
    expect((await send(c, 'later')).body.Receipt).toMatchObject({ Delivered: true, MessageID: expect.stringMatching(/^id-\d+$/) });
    expect((await send(c, 'never')).body.Receipt).toMatchObject({ Delivered: false, FailureKind: 'permanent', Error: 'no such room' });
    await cli.untilErr(/dlv-\w+ is not published: busy\n[^]*is not published: no such room\n/);
    cli.interrupt();
    expect(
      (await cli.exited).stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as Given).text),
    ).toEqual(['now', 'later', 'later', 'never']);
  });
});
