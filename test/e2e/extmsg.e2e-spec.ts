import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExtmsgCity, queryOf, type Conversation } from '../support/extmsg-city.js';
import { outcome, type Api, type Reply } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';

/** Who answers in conversations elsewhere, and what was said, at two replicas. */
let city: ExtmsgCity;
let a: Api;
let b: Api;
let one: string;
let two: string;

beforeAll(async () => {
  city = await ExtmsgCity.open({ workers: 1 });
  ({ a, b } = city);
  [one, two] = [await city.session(), await city.session()];
});
afterAll(() => city?.close());

const bind = (conversation: Conversation, body: object, at: Api = a): Promise<Reply> =>
  at.post(city.ext('bind'), { conversation, ...body });
const transcript = async (conversation: Conversation, more = ''): Promise<any> =>
  (await b.get(city.ext(`transcript?${queryOf(conversation)}${more}`))).body;
const refused = (reply: Reply, status: number, detail: RegExp): void => {
  expect({ status: reply.status, detail: reply.body.detail }).toEqual({ status, detail: expect.stringMatching(detail) });
};

describe('bindings', () => {
  it('are one a conversation: the same again keeps it, another is refused, and handing over counts', async () => {
    const c = city.conversation();
    const first = await bind({ ...c, provider: ' Slack ' }, { session_id: one, metadata: { ' k ': 'v', ' ': 'x' } });
    expect(outcome(first)).toBe(200);
    expect(first.body).toMatchObject({
      ...{ Conversation: c, SessionID: one, AgentName: '', Status: 'active', ExpiresAt: null, BindingGeneration: 1, SchemaVersion: 1 },
      Metadata: { k: 'v' },
    });
    const again = await bind(c, { session_id: first.body.SessionName, metadata: { more: 'w' } }, b);
    expect(again.body).toEqual({ ...first.body, Metadata: { k: 'v', more: 'w' } });
    refused(
      await bind(c, { session_id: two }, b),
      409,
      new RegExp(`^conflict: extmsg binding conflict: conversation already bound to ${one}$`),
    );
    const handed = await bind(c, { agent_name: 'mayor', replace: true }, b);
    expect(handed.body).toMatchObject({ AgentName: 'mayor', SessionID: '', BindingGeneration: 2 });
    refused(await bind(c, { session_id: one }), 409, /already bound to agent mayor$/);
    expect((await a.get(city.ext(`bindings?session_id=${one}`))).body.items).toEqual([]);
    expect((await b.get(city.ext('bindings?session_id=mayor'))).body.items).toMatchObject([{ ID: handed.body.ID }]);
    expect((await city.events('extmsg.bound', c.conversation_id)).map(({ payload }) => payload.binding_generation)).toEqual([1, 1, 2]);
    const [displaced] = (await city.events('extmsg.unbound')).filter(
      ({ payload }) => payload.bindings[0].conversation_id === c.conversation_id,
    );
    expect(displaced.payload).toMatchObject({ count: 1, reason: 'replaced', session_id: one });
  });

  it('tell a thread from its room, and one account from another', async () => {
    const room = city.conversation();
    const thread: Conversation = { ...room, kind: 'thread', parent_conversation_id: room.conversation_id };
    const other: Conversation = { ...room, account_id: 'Other' };
    for (const [n, c] of [room, thread, other].entries())
      expect((await bind(c, { session_id: n === 1 ? two : one })).body).toMatchObject({ BindingGeneration: 1 });
  });

  it('are refused to what is nobody, or says too little', async () => {
    const c = city.conversation();
    refused(await bind(c, {}), 400, /^invalid: session_id or agent_name is required$/);
    refused(await bind(c, { session_id: one, agent_name: 'mayor' }), 400, /mutually exclusive$/);
    refused(await bind(c, { agent_name: 'nobody' }), 400, /agent "nobody" does not resolve to a configured named session/);
    refused(await bind(c, { session_id: 'nobody' }), 404, /session nobody not found/);
    refused(await a.post(city.ext('bind'), { session_id: one }), 400, /extmsg invalid conversation: scope_id required$/);
    refused(await bind({ ...c, provider: ' ' }, { session_id: one }), 400, /provider required$/);
    expect((await bind({ ...c, kind: 'Room' as 'room' }, { session_id: one })).status).toBe(422);
    refused(await a.get(city.ext('bindings')), 400, /session_id query parameter is required/);
    expect(await city.sql(`select 1 from extmsg_conversations where conversation_id = $1`, [c.conversation_id])).toEqual([]);
  });

  // Guard: one binding of a conversation is active; the row of the conversation is the lock.
  it('of two at once to different sessions one is refused, at two replicas', async () => {
    for (let round = 0; round < 6; round++) {
      const c = city.conversation();
      const replies = await Promise.all([bind(c, { session_id: one }, a), bind(c, { session_id: two }, b)]);
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
      const c2 = city.conversation();
      const same = await Promise.all([a, b, a, b].map((at) => bind(c2, { session_id: one }, at)));
      expect(new Set(same.map(({ body }) => body.ID))).toEqual(new Set([same[0]!.body.ID]));
    }
  });

  it('end by conversation, session and agent, all that fit, and once', async () => {
    const mine = await city.session();
    const [c, d, e] = [city.conversation(), city.conversation(), city.conversation()];
    for (const each of [c, d, e]) expect(outcome(await bind(each, { session_id: mine }))).toBe(200);
    const ended = (await b.post(city.ext('unbind'), { conversation: c, session_id: mine })).body.unbound;
    expect(ended).toMatchObject([{ Status: 'ended', Conversation: c }]);
    expect((await a.post(city.ext('unbind'), { conversation: c })).body).toEqual({ unbound: [] });
    expect((await a.post(city.ext('unbind'), { conversation: d, session_id: one })).body).toEqual({ unbound: [] });
    expect((await a.post(city.ext('unbind'), { session_id: mine })).body.unbound).toHaveLength(2);
    expect((await a.post(city.ext('unbind'), { session_id: 'nobody' })).body).toEqual({ unbound: [] });
    refused(await a.post(city.ext('unbind'), {}), 400, /conversation, session_id, or agent_name is required$/);
    expect((await city.events('extmsg.unbound')).filter(({ subject }) => subject === mine).map(({ payload }) => payload.count)).toEqual([
      1, 2,
    ]);
    expect((await bind(c, { session_id: one })).body).toMatchObject({ BindingGeneration: 2 });
  });

  it('end by their time, whoever looks first', async () => {
    const c = city.conversation();
    const past = await bind(c, { session_id: one, expires_at: '2020-01-01T00:00:00Z' });
    expect(past.body).toMatchObject({ ExpiresAt: '2020-01-01T00:00:00.000Z' });
    const taken = await bind(c, { session_id: two }, b);
    expect(taken.body).toMatchObject({ BindingGeneration: 2, SessionID: two });
    const told = (await city.events('extmsg.unbound')).filter(({ payload }) => payload.bindings[0].conversation_id === c.conversation_id);
    expect(told.map(({ payload }) => payload.reason)).toEqual(['expired']);
  });
});

describe('groups', () => {
  const group = async (c: Conversation, more: object = {}): Promise<any> => {
    const reply = await a.post(city.ext('groups'), { root_conversation: c, ...more });
    expect(outcome(reply)).toBe(201);
    return reply.body;
  };
  const participant = (id: string, handle: string, session: string, more: object = {}): Promise<Reply> =>
    b.post(city.ext('participants'), { group_id: id, handle, session_id: session, ...more });

  it('are made once a conversation, and say anew what they are', async () => {
    const c = city.conversation();
    const made = await group(c, {
      mode: ' Launcher',
      default_handle: '@Ops',
      metadata: { a: '1' },
      fanout_policy: { MaxTotalPeerDeliveries: 3 },
    });
    expect(made).toMatchObject({
      ...{ Mode: 'launcher', DefaultHandle: 'ops', RootConversation: c, LastAddressedHandle: '', Metadata: { a: '1' } },
      FanoutPolicy: { Enabled: true, AllowUntargetedPublication: true, MaxPeerTriggeredPublishes: 20, MaxTotalPeerDeliveries: 3 },
    });
    expect(await group(c, { metadata: { b: '2' } })).toMatchObject({ ID: made.ID, DefaultHandle: '', Metadata: { a: '1', b: '2' } });
    expect((await b.get(city.ext(`groups?${queryOf(c)}`))).body).toMatchObject({ ID: made.ID, Participants: [] });
    expect(await city.events('extmsg.group_created', c.conversation_id)).toHaveLength(2);
    for (const query of ['', `?${queryOf({ ...c, kind: 'dm' })}`, '?kind=x'])
      expect((await a.get(city.ext(`groups${query}`))).body).toMatchObject({ status: 404, code: 'extmsg-group-not-found' });
    refused(await a.post(city.ext('groups'), { root_conversation: c, mode: 'chat' }), 422, /unknown group mode "chat"/);
    refused(await a.post(city.ext('groups'), {}), 422, /scope_id required/);
  });

  it('keep a member as long as one handle is his', async () => {
    const c = city.conversation();
    const { ID: id } = await group(c);
    expect((await participant(id, ' Dev ', one, { public: true, metadata: { x: 'y' } })).body).toMatchObject({
      ...{ GroupID: id, Handle: 'dev', SessionID: one, Public: true, Metadata: { x: 'y' } },
    });
    await participant(id, 'ops', one);
    expect((await participant(id, 'chief', 'mayor')).body).toMatchObject({ SessionID: 'mayor', SessionName: '' });
    const members = async (): Promise<string[]> =>
      (
        await city.sql<{ selector: string }>(
          `select m.selector from extmsg_memberships m join extmsg_conversations c on c.pk = m.conversation_pk
         where c.conversation_id = $1 and m.closed_at is null order by m.selector collate "C"`,
          [c.conversation_id],
        )
      ).map(({ selector }) => selector);
    expect(await members()).toEqual([one, 'mayor'].sort());
    await participant(id, 'dev', two);
    expect(await members()).toEqual([one, two, 'mayor'].sort());
    await participant(id, 'ops', two);
    expect(await members()).toEqual([two, 'mayor'].sort());
    expect((await b.get(city.ext(`groups?${queryOf(c)}`))).body.Participants.map(({ Handle }: any) => Handle)).toEqual([
      'chief',
      'dev',
      'ops',
    ]);
    const remove = (handle: string): Promise<Reply> => a.delete(city.ext('participants'), { group_id: id, handle });
    for (let n = 0; n < 2; n++) expect((await remove('chief')).body).toEqual({ status: 'removed' });
    expect(await members()).toEqual([two]);
    refused(await remove('nobody'), 422, /extmsg group route not found/);
    refused(await participant(id, '@', one), 422, /extmsg invalid handle: it has to be one word/);
    refused(await participant('group-none', 'dev', one), 404, /extmsg group not found/);
    refused(await participant(id, 'dev', 'nobody'), 404, /session nobody not found/);
  });
});

describe('transcripts', () => {
  it('are gapless, read forwards and backwards in pages, and acknowledged forwards only', async () => {
    const c = city.conversation();
    await bind(c, { session_id: one });
    for (let n = 1; n <= 5; n++)
      expect((await city.inbound(c, `m-${n}`, {}, n % 2 === 0 ? a : b)).body).toMatchObject({ TranscriptEntry: { Sequence: n } });
    const numbers = (body: any): number[] => body.items.map(({ Sequence }: any) => Sequence as number);
    const first = await transcript(c, '&limit=2');
    expect([numbers(first), first.earliest_sequence, first.latest_sequence]).toEqual([[1, 2], 1, 5]);
    const second = await transcript(c, `&limit=2&cursor=${first.next_cursor as string}`);
    expect(numbers(second)).toEqual([3, 4]);
    const back = await transcript(c, '&limit=3&order=desc');
    expect(numbers(back)).toEqual([5, 4, 3]);
    expect(numbers(await transcript(c, `&order=desc&cursor=${back.next_cursor as string}`))).toEqual([2, 1]);
    expect(numbers(await transcript(c, '&after_sequence=3'))).toEqual([4, 5]);
    expect(numbers(await transcript(c, '&before_sequence=3&order=desc'))).toEqual([2, 1]);
    expect(numbers(await transcript(c, '&limit=-1&after_sequence=-7'))).toEqual([1, 2, 3, 4, 5]);

    const ack = (sequence?: number, session_id = one): Promise<Reply> =>
      b.post(city.ext('transcript/ack'), { conversation: c, session_id, sequence });
    expect(numbers(await transcript(c, `&session_id=${one}`))).toEqual([1, 2, 3, 4, 5]);
    for (const sequence of [3, 1, 0, undefined, 3]) expect((await ack(sequence)).body).toEqual({ status: 'acked' });
    expect(numbers(await transcript(c, `&session_id=${one}`))).toEqual([4, 5]);
    refused(await ack(6), 422, /ack sequence 6 exceeds head 5$/);
    refused(await ack(-1), 422, /sequence must be non-negative$/);
    refused(await ack(1, two), 422, /extmsg membership not found$/);
    expect((await transcript(city.conversation())).items).toEqual([]);
    const path = city.ext('transcript?provider=slack');
    expectRefusal(await a.get(path), path, { status: 400, detail: 'invalid: extmsg invalid conversation: scope_id required' });
  });
});

describe('what is kept', () => {
  it('ends and goes after its time, the rest stays and is told', async () => {
    const [c, d] = [city.conversation(), city.conversation()];
    await bind(c, { session_id: one, expires_at: '2999-01-01T00:00:00Z' });
    for (let n = 1; n <= 4; n++) await city.inbound(c, `m-${n}`);
    await city.settled(c.conversation_id, 4);
    const of = `(select pk from extmsg_conversations where conversation_id = '${c.conversation_id}')`;
    await city.sql(`update extmsg_entries set created_at = now() - interval '91 days' where conversation_pk = ${of} and sequence <= 2`);
    await city.sql(`update extmsg_deliveries set ended_at = now() - interval '8 days' where conversation_pk = ${of} and sequence <= 3`);
    await city.sql(`update extmsg_bindings set expires_at = now() where conversation_pk = ${of}`);
    await city.sql(`update extmsg_bindings set expires_at = now() - interval '1 second' where conversation_pk = ${of}`);
    await bind(d, { session_id: one });
    await a.post(city.ext('unbind'), { conversation: d });
    await city.sql(`update extmsg_bindings set ended_at = now() - interval '31 days' where status = 'ended' and conversation_pk =
      (select pk from extmsg_conversations where conversation_id = '${d.conversation_id}')`);
    await city.sweep();
    const left = await transcript(c);
    expect([left.items.map(({ Sequence }: any) => Sequence), left.earliest_sequence, left.latest_sequence]).toEqual([[3, 4], 3, 4]);
    expect((await city.deliveries(c.conversation_id)).map(({ sequence }) => sequence)).toEqual([4]);
    const told = (await city.events('extmsg.unbound')).filter(({ payload }) => payload.bindings[0].conversation_id === c.conversation_id);
    expect(told.map(({ payload, actor }) => [payload.reason, actor])).toEqual([['expired', 'reconciler']]);
    expect(
      await city.sql(
        `select 1 from extmsg_bindings b join extmsg_conversations c on c.pk = b.conversation_pk where c.conversation_id = $1`,
        [d.conversation_id],
      ),
    ).toEqual([]);
    expect((await bind(c, { session_id: two })).body).toMatchObject({ BindingGeneration: 2 });
    expect((await city.inbound(c, 'm-5')).body).toMatchObject({ TranscriptEntry: { Sequence: 5 } });
  });
});

// Last: the worker is stopped.
describe('a configured name that gets another session', () => {
  // Guard: what the name stands for goes along in the transaction that makes the other session.
  it('keeps its conversations, its handles and what it has read', async () => {
    await city.stack.apps.at(-1)!.stop();
    const [c, d] = [city.conversation(), city.conversation()];
    const write = async (): Promise<string> => {
      const reply = await a.post(city.path('session/mayor/messages'), { message: 'hello' });
      expect(outcome(reply)).toBe(202);
      return reply.body.session_id as string;
    };
    const before = await write();
    await bind(c, { session_id: before });
    const { ID: group_id } = (await a.post(city.ext('groups'), { root_conversation: d, default_handle: 'm' })).body;
    // By its id: by its name it would be the name that has the handle.
    await a.post(city.ext('participants'), { group_id, handle: 'm', session_id: before });
    await city.inbound(c, 'm-1');
    await city.inbound(c, 'm-2');
    await a.post(city.ext('transcript/ack'), { conversation: c, session_id: before, sequence: 1 });
    await city.sql(`update sessions set state = 'archived', continuity_eligible = false, runner_id = null, live = false where id = $1`, [
      before,
    ]);
    const after = await write();
    expect(after).not.toBe(before);
    expect((await b.get(city.ext(`bindings?session_id=${after}`))).body.items).toMatchObject([{ SessionID: after, BindingGeneration: 1 }]);
    expect((await b.get(city.ext(`groups?${queryOf(d)}`))).body.Participants).toMatchObject([{ Handle: 'm', SessionID: after }]);
    expect((await transcript(c, `&session_id=${after}`)).items.map(({ Sequence }: any) => Sequence)).toEqual([2]);
    expect((await city.deliveries(c.conversation_id)).map(({ session }) => session)).toEqual([after, after]);
    expect((await city.events('extmsg.bound', c.conversation_id)).map(({ payload }) => payload.session_id)).toEqual([before, after]);
  });
});
