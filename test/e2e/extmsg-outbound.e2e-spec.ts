import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, type ServerResponse } from 'node:http';
import tls from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Authority } from '../support/authority.js';
import { folder, removeFolders } from '../support/folders.js';
import { AdapterServer, ExtmsgCity, queryOf, type Conversation, PublicationWatch } from '../support/extmsg-city.js';
import { svc } from '../support/cli.js';
import { api, outcome, type Api, type Reply } from '../support/http.js';
import { eventually } from '../support/sse.js';

/** What sessions publish, at two replicas with two workers, to an adapter that does as it is told. */
let city: ExtmsgCity;
let a: Api;
let b: Api;
let one: string;
let two: string;
let secret: string;
let token: string;

beforeAll(async () => {
  city = await ExtmsgCity.open();
  ({ a, b } = city);
  [one, two] = [await city.session(), await city.session()];
  ({ secret, token } = await city.register());
  // Pauses are short; whether something takes long is never asked.
  city.timings({ pauseMs: 20, longestMs: 50, callMs: 60_000, answerMs: 90_000 });
});
beforeEach(() => city.adapter.reset());
afterAll(() => city?.close());

const bind = async (conversation: Conversation, body: object, at: Api = a): Promise<Reply> => {
  const reply = await at.post(city.ext('bind'), { conversation, ...body });
  expect(outcome(reply)).toBe(200);
  return reply;
};
const bound = async (session = one): Promise<Conversation> => {
  const c = city.conversation();
  await bind(c, { session_id: session });
  return c;
};
const send = (conversation: Conversation, text: string, more: object = {}, at: Api = a): Promise<Reply> =>
  at.post(city.ext('outbound'), { session_id: one, conversation, text, ...more });
const refused = (reply: Reply, status: number, detail: RegExp): void =>
  expect({ status: reply.status, detail: reply.body.detail }).toEqual({ status, detail: expect.stringMatching(detail) });
const answer = (response: ServerResponse, status: number, body: unknown = {}, headers = {}): void =>
  void response.writeHead(status, headers).end(JSON.stringify(body));

describe('what a session publishes', () => {
  it('is signed, recorded and told, and the answer has all of it', async () => {
    const c = await bound();
    const reply = await send({ ...c, provider: 'Slack' }, ' Hi ', { reply_to_message_id: 'm-0', idempotency_key: 'k1' });
    expect(outcome(reply)).toBe(200);
    expect(reply.body).toMatchObject({
      Receipt: { MessageID: 'out-k1', Delivered: true, FailureKind: '', RetryAfter: 0, Conversation: { ...c, provider: 'Slack' } },
      DeliveryContext: { SessionID: one, BindingGeneration: 1, LastMessageID: 'out-k1' },
      TranscriptEntry: {
        Sequence: 1,
        Kind: 'outbound',
        Text: 'Hi',
        ProviderMessageID: 'out-k1',
        SourceSessionID: one,
        ReplyToMessageID: 'm-0',
      },
    });
    const [call] = city.adapter.of(c.conversation_id);
    expect(call!.path).toBe('/publish');
    expect(call!.body).toEqual({
      ...{ session_id: one, text: ' Hi ', reply_to_message_id: 'm-0', idempotency_key: 'k1', metadata: { source_session_id: one } },
      conversation: { ...c, provider: 'Slack' },
    });
    const { 'x-svc-timestamp': at, 'x-svc-signature': signature, 'x-svc-request': request } = call!.headers;
    expect(signature).toBe(
      `sha256=${createHmac('sha256', secret)
        .update(`${at as string}.${call!.text}`)
        .digest('hex')}`,
    );
    expect(request).toBe('true');
    expect((await city.events('extmsg.outbound', c.conversation_id)).map(({ payload }) => payload)).toMatchObject([
      { message_id: 'out-k1', session: one, sequence: 1, binding_generation: 1 },
    ]);
    // What the provider sends back of it is no second entry.
    expect((await city.inbound(c, 'out-k1')).body).toMatchObject({ Duplicate: true, TranscriptEntry: { Sequence: 1 } });
  });

  // Guard: one publication under one key.
  it('is published once under one key, however many ask for it', async () => {
    const c = await bound();
    const replies = await Promise.all(Array.from({ length: 8 }, (_, n) => send(c, 'once', { idempotency_key: 'k' }, n % 2 === 0 ? a : b)));
    expect(new Set(replies.map(({ body }) => JSON.stringify(body.TranscriptEntry)))).toHaveProperty('size', 1);
    expect(city.adapter.of(c.conversation_id)).toHaveLength(1);
    refused(await send(c, 'other', { idempotency_key: 'k' }), 422, /^idempotency_mismatch: /);
    expect((await send(c, 'once')).body.TranscriptEntry.Sequence).toBe(2);
    expect((await send(c, 'once')).body.TranscriptEntry.Sequence).toBe(3);
  });

  // Guard: nothing waits for the end of a publication once whoever asked has left.
  it('is published where whoever asked has left, and waited for no longer', async () => {
    const c = await bound();
    const hung = Promise.withResolvers<ServerResponse>();
    city.adapter.does = (_published, response) => hung.resolve(response);
    const waited = jest.spyOn(city.stack.apps[0]!.app.get(PublicationWatch, { strict: false }), 'result');
    try {
      const agent = new Agent();
      const left = send(c, 'x', {}, api(city.stack.urls[0]!, {}, agent)).catch(() => 'left');
      const response = await hung.promise;
      const [, , gone] = await eventually(() => waited.mock.calls[0]);
      expect(gone).toBeInstanceOf(AbortSignal);
      agent.destroy();
      expect(await left).toBe('left');
      const { Receipt, DeliveryID } = await (waited.mock.results[0]!.value as ReturnType<PublicationWatch['result']>);
      expect(Receipt.FailureKind).toBe('pending');
      answer(response, 200, { message_id: 'm', delivered: true });
      await eventually(async () => {
        const [row] = await city.sql<{ state: string }>('select state from extmsg_deliveries where id = $1', [DeliveryID]);
        return row?.state === 'delivered';
      });
    } finally {
      waited.mockRestore();
    }
  });

  it('needs the conversation, or a handle in its group', async () => {
    const c = await bound(two);
    refused(
      await send(c, 'x'),
      422,
      new RegExp(`session "${one}" does not own binding for conversation slack/${c.conversation_id} \\(bound to ${two}\\)$`),
    );
    expect((await city.events('extmsg.outbound_channel_mismatch', c.conversation_id)).map(({ payload }) => payload)).toMatchObject([
      { posting_session: one, owner_session: two },
    ]);
    const free = city.conversation();
    refused(await send(free, 'x'), 422, new RegExp(`no active binding for conversation slack/${free.conversation_id} \\(${free.kind}\\)$`));
    refused(await send(free, 'x', { session_id: 'nobody' }), 404, /session nobody not found/);
    const none = city.conversation({ account_id: 'none' });
    await bind(none, { session_id: one });
    refused(await send(none, 'x'), 422, /no adapter for slack\/none$/);
    const { ID } = (await a.post(city.ext('groups'), { root_conversation: free })).body;
    await a.post(city.ext('participants'), { group_id: ID, handle: 'x', session_id: one });
    expect((await send(free, 'x')).body).toMatchObject({
      Receipt: { Delivered: true },
      DeliveryContext: null,
      TranscriptEntry: { Sequence: 1 },
    });
    refused(await send(free, 'x', { session_id: two }), 422, /no active binding/);
  });

  it('is for the session of a configured name to say, where that has the conversation', async () => {
    const c = city.conversation();
    await bind(c, { agent_name: 'mayor' });
    await city.inbound(c, 'm-1');
    await city.settled(c.conversation_id, 1);
    const { id } = (await b.get(city.path('session/mayor'))).body;
    expect((await send(c, 'I am', { session_id: id })).body).toMatchObject({ Receipt: { Delivered: true }, DeliveryContext: null });
    expect((await send(c, 'I am', { session_id: 'mayor' })).body).toMatchObject({ Receipt: { Delivered: true } });
    refused(await send(c, 'x'), 422, /\(bound to agent mayor\)$/);
    expect(await city.events('extmsg.outbound_channel_mismatch', c.conversation_id)).toHaveLength(1);
  });

  it('has to fit the adapter', async () => {
    await city.register({
      account_id: 'small',
      capabilities: { SupportsChildConversations: false, SupportsAttachments: false, MaxMessageLength: 3 },
    });
    const c = city.conversation({ account_id: 'small' });
    await bind(c, { session_id: one });
    refused(await send(c, 'four'), 422, /takes 3 characters at the most$/);
    refused(await send(c, 'x', { attachments: [{ provider_id: '1', url: 'https://example.com' }] }), 422, /takes no attachments$/);
    expect((await send(c, 'ok!')).body.Receipt.Delivered).toBe(true);
  });
});

describe('an adapter', () => {
  it('that fails for a while is called again, with the same key', async () => {
    const c = await bound();
    const answers = [
      () => [503, {}],
      () => [429, {}, { 'retry-after': '0' }],
      () => [200, { delivered: false, failure_kind: 'rate_limited', retry_after: 1 }],
    ] as const;
    city.adapter.does = (published, response) => {
      const next = answers[city.adapter.published.length - 1]?.() as [number, object, object?] | undefined;
      if (next === undefined) return answer(response, 200, { message_id: 'm-9', delivered: true });
      answer(response, next[0], next[1], next[2] ?? {});
    };
    expect((await send(c, 'again')).body).toMatchObject({
      Receipt: { Delivered: true, MessageID: 'm-9' },
      TranscriptEntry: { Sequence: 1 },
    });
    const calls = city.adapter.of(c.conversation_id);
    expect(calls).toHaveLength(4);
    expect(new Set(calls.map(({ body }) => body.idempotency_key)).size).toBe(1);
    expect(await city.events('extmsg.outbound', c.conversation_id)).toHaveLength(1);
  });

  it.each([
    [401, 'auth', ' {"why":"no"}'],
    [404, 'not_found', ' {"why":"no"}'],
    [400, 'permanent', ' {"why":"no"}'],
    [302, 'permanent', ': redirects are not followed; register where it leads'],
  ])('that answers %d is not called again, nor anything it points to: %s', async (status, kind, why) => {
    const c = await bound();
    city.adapter.does = (_published, response) => answer(response, status, { why: 'no' }, { location: `${city.adapter.url}/elsewhere` });
    const { Receipt, TranscriptEntry } = (await send(c, 'x')).body;
    expect({ Receipt, TranscriptEntry }).toMatchObject({
      Receipt: { Delivered: false, FailureKind: kind, MessageID: '' },
      TranscriptEntry: null,
    });
    expect(Receipt.Error).toBe(`${status}${why}`);
    expect(city.adapter.published).toHaveLength(1);
    const [failed] = await city.events('extmsg.delivery_failed', c.conversation_id);
    expect(failed.payload).toMatchObject({ direction: 'outbound', session: one, error_code: kind });
  });

  // Guard: the time and the size of an answer are limited.
  it('that hangs, drips, floods or answers nonsense has failed, and others are published', async () => {
    const [hung, dripped, flooded, odd] = [await bound(), await bound(), await bound(), await bound()];
    const timers: NodeJS.Timeout[] = [];
    const slow: typeof city.adapter.does = ({ body }, response) => {
      const id = body.conversation.conversation_id as string;
      if (id === hung.conversation_id) return;
      response.writeHead(200);
      if (id === odd.conversation_id) response.end('<html>');
      else if (id === dripped.conversation_id) timers.push(setInterval(() => response.write(' '), 20));
      else for (let n = 0; n < 40; n++) response.write(' '.repeat(65_536));
    };
    city.adapter.does = slow;
    const errors = async (...conversations: Conversation[]): Promise<[string, string][]> =>
      (await Promise.all(conversations.map((c) => send(c, 'x')))).map(({ body }) => [body.Receipt.FailureKind, body.Receipt.Error]);
    city.timings({ attempts: 1 });
    try {
      expect(await errors(flooded, odd)).toEqual([
        ['transient', 'its answer is longer than 1048576 bytes'],
        ['transient', '200, and its answer is not what was agreed: <html>'],
      ]);
      city.adapter.does = (_call, response) => void response.end('{"delivered":true,"message_id":12}');
      expect(await errors(odd)).toEqual([
        ['transient', expect.stringMatching(/^200, and its answer is not what was agreed \(message_id: .*string.*\): \{"delivered"/)],
      ]);
      city.adapter.does = slow;
      city.timings({ callMs: 1_000 });
      expect(await errors(hung, dripped)).toEqual(Array(2).fill(['transient', 'no answer within 1000 ms']));
    } finally {
      timers.forEach(clearInterval);
      city.timings({ callMs: 60_000, attempts: 10 });
    }
    city.adapter.reset();
    expect((await send(await bound(), 'x')).body.Receipt).toMatchObject({ Delivered: true });
  });

  it('is told to fail, or to be silent, in the list', async () => {
    await city.register({ account_id: 'mute', callback_url: '' });
    const c = city.conversation({ account_id: 'mute' });
    await bind(c, { session_id: one });
    expect((await send(c, 'x')).body.Receipt).toMatchObject({ Delivered: false, FailureKind: 'unsupported' });
    await city.register({ account_id: 'late', lease_seconds: 30 });
    await city.sql(`update extmsg_adapters set last_seen_at = now() - interval '1 minute' where account_id = 'late'`);
    await city.sql(`update extmsg_adapters set failures = 3, last_error = 'x' where account_id = 'default'`);
    const health = async (): Promise<object> =>
      Object.fromEntries((await b.get(city.ext('adapters'))).body.items.map((one_: any) => [one_.account_id, one_.health]));
    expect(await health()).toMatchObject({ mute: 'no_callback', late: 'stale', default: 'failing' });
    await city.register({ account_id: 'late', lease_seconds: 30 });
    expect((await send(await bound(), 'x')).body.Receipt.Delivered).toBe(true);
    expect(await health()).toMatchObject({ late: 'ok', default: 'ok' });
    expect((await city.events('extmsg.adapter_added')).filter(({ subject }) => subject === 'slack/late')).toHaveLength(1);
  });

  // Guard: every address is looked at when it is registered, and again at each call.
  it('is called at public addresses and allowed ones only', async () => {
    const register = (callback_url: string): Promise<Reply> =>
      a.post(city.ext('adapters'), { provider: 'bad', account_id: 'x', callback_url });
    for (const address of [
      'http://169.254.169.254/',
      'http://10.0.0.1',
      'http://[::1]:80',
      'http://0xa9fea9fe',
      'http://[::ffff:10.0.0.1]',
    ])
      refused(
        await register(address),
        422,
        /callback_url may not be called: .* leads to an address that may not be called \(the operator allows it with SVC_ALLOWED_TARGETS\)$/,
      );
    for (const address of ['ftp://example.com', 'nonsense', 'http://u:p@example.com', `${city.adapter.url}?x=1`])
      expect((await register(address)).status).toBe(422);
    expect(await city.sql(`select 1 from extmsg_adapters where provider = 'bad'`)).toEqual([]);
    const c = await bound();
    await city.sql(`update extmsg_adapters set callback_url = 'http://169.254.169.254' where account_id = 'default'`);
    try {
      const { Receipt } = (await send(c, 'x')).body;
      expect(Receipt).toMatchObject({
        Delivered: false,
        FailureKind: 'permanent',
        Error: '169.254.169.254 leads to an address that may not be called',
      });
    } finally {
      await city.register();
    }
  });
});

describe('an adapter over TLS', () => {
  let authority: Authority;
  const before = tls.getCACertificates('default');
  const servers: AdapterServer[] = [];

  beforeAll(async () => {
    authority = await Authority.in(await folder('svc-callback-'));
  });
  afterAll(async () => {
    tls.setDefaultCACertificates(before);
    await Promise.all(servers.map((server) => server.close()));
    await removeFolders();
  });

  async function serves(names: string): Promise<AdapterServer> {
    const { key, cert } = await authority.issue(names);
    const server = await AdapterServer.open({ key: await readFile(key), cert: await readFile(cert) });
    servers.push(server);
    return server;
  }

  it('is called when somebody who is trusted has signed for its name, and told nothing otherwise', async () => {
    const [named, other] = [await serves('IP:127.0.0.1'), await serves('DNS:elsewhere.example')];
    const called = async (server: AdapterServer): Promise<object> => {
      await city.register({ account_id: 'tls', callback_url: server.url });
      const c = city.conversation({ account_id: 'tls' });
      await bind(c, { session_id: one });
      return (await send(c, 'x')).body.Receipt;
    };
    city.timings({ attempts: 1 });
    try {
      expect(await called(named)).toMatchObject({
        Delivered: false,
        FailureKind: 'transient',
        Error: expect.stringMatching(/certificate/),
      });
      // As NODE_EXTRA_CA_CERTS would have it from the start.
      tls.setDefaultCACertificates([...before, await authority.pem()]);
      expect(await called(other)).toMatchObject({
        Delivered: false,
        FailureKind: 'transient',
        Error: expect.stringMatching(/does not match/),
      });
      expect([named.published, other.published]).toEqual([[], []]);
      expect(await called(named)).toMatchObject({ Delivered: true, FailureKind: '' });
      expect(named.published.map(({ path, body }) => [path, body.text])).toEqual([['/publish', 'x']]);
    } finally {
      city.timings({ attempts: 10 });
    }
  });
});

describe('handing over', () => {
  // Guard: what is published is fenced by the generation of the binding.
  it('keeps what is not published yet from being published', async () => {
    const c = await bound();
    const handed = Promise.withResolvers<void>();
    city.adapter.does = (_published, response) =>
      void bind(c, { session_id: two, replace: true }, b).then(() => {
        handed.resolve();
        answer(response, 503);
      });
    const { Receipt, TranscriptEntry } = (await send(c, 'late')).body;
    await handed.promise;
    expect({ Receipt, TranscriptEntry }).toMatchObject({ Receipt: { Delivered: false, FailureKind: 'fenced' }, TranscriptEntry: null });
    expect(city.adapter.of(c.conversation_id)).toHaveLength(1);
    const [{ id }] = await city.deliveries(c.conversation_id);
    refused(await b.post(city.ext(`delivery/${id as string}/retry`)), 409, /its session has the conversation no more$/);
  });

  it('against publishing at once: whoever publishes has the conversation when it is admitted', async () => {
    for (let round = 0; round < 4; round++) {
      const c = await bound();
      const [sent] = await Promise.all([
        Promise.all(Array.from({ length: 4 }, (_, n) => send(c, `n ${n}`, {}, n % 2 === 0 ? a : b))),
        bind(c, { session_id: two, replace: true }, b),
      ]);
      for (const { status, body } of sent)
        if (status === 200) expect(body.Receipt.Delivered || body.Receipt.FailureKind === 'fenced').toBe(true);
        else expect([status, body.code]).toEqual([422, 'validation-failed']);
      const delivered = sent.filter(({ body }) => body.Receipt?.Delivered === true);
      const entries = (await b.get(city.ext(`transcript?${queryOf(c)}`))).body.items as any[];
      expect(entries.map(({ Sequence }) => Sequence)).toEqual(delivered.map((_, n) => n + 1));
      expect(city.adapter.of(c.conversation_id)).toHaveLength(delivered.length);
      // What it had published counts no more for who came after it.
      expect(
        await city.sql(
          `select 1 from extmsg_contexts x join extmsg_conversations c on c.pk = x.conversation_pk where c.conversation_id = $1
        and x.generation <> c.generation and exists (select from extmsg_bindings b where b.conversation_pk = c.pk and b.status = 'active' and b.session_pk = x.session_pk)`,
          [c.conversation_id],
        ),
      ).toEqual([]);
    }
  });
});

describe('a group', () => {
  const room = async (fanout_policy: object): Promise<Conversation> => {
    const c = city.conversation();
    const { ID } = (await a.post(city.ext('groups'), { root_conversation: c, default_handle: 'dev', fanout_policy })).body;
    for (const [handle, session_id] of [
      ['dev', one],
      ['ops', two],
    ])
      expect(outcome(await a.post(city.ext('participants'), { group_id: ID, handle, session_id }))).toBe(200);
    return c;
  };
  const peers = async (c: Conversation): Promise<[string, string][]> =>
    (await city.settled(c.conversation_id, 0))
      .filter(({ direction }) => direction === 'peer')
      .map(({ session, state }) => [session, state]);

  it('tells the others what one of them publishes, in whose name', async () => {
    const c = await room({});
    await send(c, 'by dev', { explicit_target: 'ops' });
    expect(await peers(c)).toEqual([[two, 'delivered']]);
    const [{ message }] = (await city.messages(two)).filter(({ message: text }) => text.includes(`conversation="${c.conversation_id}"`));
    expect(message).toContain('from="dev"');
    expect(message).toContain('addressed-to="ops"');
    expect(message).not.toContain('This is a copy');
  });

  it('ends what its members set going with each other, until somebody outside writes again', async () => {
    const c = await room({ MaxPeerTriggeredPublishes: 2, MaxTotalPeerDeliveries: 3 });
    await city.inbound(c, 'm-1');
    const say = async (session_id: string): Promise<number | string> => outcome(await send(c, 'x', { session_id }));
    expect(await say(one)).toBe(200);
    // Each from here on was told by the other.
    expect([await say(two), await say(one)]).toEqual([200, 200]);
    expect(await say(two)).toMatch(/^422 .*extmsg fan-out limit/);
    expect(await peers(c)).toEqual([
      [two, 'delivered'],
      [one, 'delivered'],
      [two, 'delivered'],
    ]);
    await city.inbound(c, 'm-2');
    expect([await say(two), await say(two), await say(two), await say(two)]).toEqual([200, 200, 200, 200]);
    expect((await peers(c)).slice(3)).toEqual([
      [one, 'delivered'],
      [one, 'delivered'],
      [one, 'delivered'],
      [one, 'skipped'],
    ]);
  });

  // Guard: what a provider sends back before it has answered is nobody's outside.
  it('ends it also where the provider sends back what they say before it answers', async () => {
    const c = await room({ MaxPeerTriggeredPublishes: 2, MaxTotalPeerDeliveries: 9 });
    await city.inbound(c, 'm-1');
    let said = 0;
    city.adapter.does = (_, response) => {
      const id = `echo-${++said}`;
      void city.inbound(c, id).then(() => answer(response, 200, { message_id: id, delivered: true, conversation: c }));
    };
    const say = async (session_id: string): Promise<number | string> => outcome(await send(c, 'x', { session_id }));
    expect([await say(one), await say(two), await say(one)]).toEqual([200, 200, 200]);
    expect(await say(two)).toMatch(/^422 .*extmsg fan-out limit/);
    const fromOutside = (await city.settled(c.conversation_id, 0)).filter(({ direction }) => direction === 'inbound');
    expect(fromOutside.map(({ sequence }) => sequence)).toEqual([1, 1]);
  });

  it('tells nobody where it is not to', async () => {
    const [off, targeted] = [await room({ Enabled: false }), await room({ AllowUntargetedPublication: false })];
    await send(off, 'x', { explicit_target: 'ops' });
    await send(targeted, 'x');
    await send(targeted, 'x', { explicit_target: 'ops' });
    expect([await peers(off), await peers(targeted)]).toEqual([[], [[two, 'delivered']]]);
  });
});

describe('what has failed for good', () => {
  it('is listed, and tried again when somebody asks', async () => {
    const c = await bound();
    city.adapter.does = (_published, response) => answer(response, 400);
    const { DeliveryID: id } = (await send(c, 'x')).body;
    expect(await city.deliveries(c.conversation_id, '&status=failed&direction=outbound')).toMatchObject([
      { id, state: 'failed', direction: 'outbound', session: one, text: 'x', attempts: 1, error_code: 'permanent', error: '400 {}' },
    ]);
    city.adapter.reset();
    expect((await b.post(city.ext(`delivery/${id as string}/retry`))).body).toMatchObject({ id, state: 'pending' });
    expect(await city.settled(c.conversation_id, 1)).toMatchObject([{ id, state: 'delivered', sequence: 1 }]);
    refused(await b.post(city.ext(`delivery/${id as string}/retry`)), 409, /is delivered$/);
    refused(await b.post(city.ext('delivery/none/retry')), 404, /delivery none not found/);
    expect((await b.get(city.ext('deliveries?cursor=x'))).body).toMatchObject({ status: 400, code: 'invalid-cursor' });
  });
});

describe('the token of an adapter', () => {
  const as = (bearer: string, at = 0): Api => api(city.stack.urls[at]!, { Authorization: `Bearer ${bearer}` });

  // Guard: an adapter speaks for its own account only.
  it('speaks for its own account, and reaches nothing else', async () => {
    const c = await bound();
    const adapter = as(token);
    expect((await city.inbound(c, 'm-1', {}, adapter)).body).toMatchObject({ TranscriptEntry: { Sequence: 1 } });
    expect((await city.events('extmsg.inbound', c.conversation_id))[0].actor).toBe('adapter:slack/default');
    const other = city.conversation({ account_id: 'other' });
    await bind(other, { session_id: one });
    const denied = [
      await city.inbound(other, 'm-1', {}, adapter),
      await adapter.post(city.ext('bind'), { conversation: other, session_id: two, replace: true }),
      await adapter.post(city.ext('unbind'), { conversation: other }),
      await adapter.post(city.ext('unbind'), { session_id: one }),
      await adapter.post(city.ext('groups'), { root_conversation: other }),
      await adapter.get(city.ext(`groups?${queryOf(other)}`)),
      await adapter.get(city.ext(`transcript?${queryOf(other)}`)),
      await adapter.post(city.ext('adapters'), { provider: 'slack', account_id: 'other' }),
      await adapter.post(city.ext('adapters'), { provider: 'slack', account_id: 'default', rotate_secret: true }),
      await adapter.delete(city.ext('adapters'), { provider: 'slack', account_id: 'other' }),
      await adapter.post(city.ext('inbound'), { provider: 'slack', account_id: 'other', payload: '' }),
      await adapter.post(city.ext('outbound'), { session_id: one, conversation: c, text: 'x' }),
      await adapter.get(city.ext('deliveries')),
      await adapter.get(city.path('sessions')),
      await adapter.get(city.path('events')),
      await adapter.get('/v0/cities'),
      await adapter.post(city.path('hook/any'), {}),
    ];
    expect(denied.map(({ status }) => status)).toEqual([...Array(12).fill(403), ...Array(4).fill(401), 403]);
    expect((await adapter.get('/v0/city/none/extmsg/adapters')).status).toBe(404);
    expect((await adapter.get(city.ext('adapters'))).body.items.map(({ account_id }: any) => account_id)).toEqual(['default']);
    expect((await transcriptOf(c, adapter)).map(({ Sequence }) => Sequence)).toEqual([1]);
  });

  it('is given once, again under its key, anew when asked for, and ends with the adapter', async () => {
    const body = { provider: 'Chat', account_id: 'x', callback_url: city.adapter.url };
    const key = { 'Idempotency-Key': 'register' };
    const register = (headers = {}, more = {}): Promise<Reply> => b.post(city.ext('adapters'), { ...body, ...more }, headers);
    const first = (await register(key)).body;
    expect(first).toMatchObject({
      status: 'registered',
      provider: 'chat',
      account_id: 'x',
      name: 'chat/x',
      token: expect.stringMatching(/^sva_/),
    });
    expect((await register(key)).body).toEqual(first);
    expect((await register()).body).toEqual({ status: 'registered', provider: 'chat', account_id: 'x', name: 'chat/x' });
    expect(await city.events('extmsg.adapter_added').then((all) => all.filter(({ subject }) => subject === 'chat/x').length)).toBe(1);
    const stored = await city.sql<{ text: string }>(`select body::text as text from idempotency_keys where key = 'register'`);
    expect(stored.map(({ text }) => text).join()).not.toContain('sva_');
    const seen = async (bearer: string): Promise<number> => (await as(bearer, 1).get(city.ext('adapters'))).status;
    expect(await seen(first.token)).toBe(200);
    const rotated = (await register({}, { rotate_secret: true })).body;
    expect([await seen(first.token), await seen(rotated.token), rotated.secret === first.secret]).toEqual([401, 200, false]);
    expect((await register(key)).body).not.toHaveProperty('token');
    for (let n = 0; n < 2; n++)
      expect((await a.delete(city.ext('adapters'), { provider: 'chat', account_id: 'x' })).body).toEqual({ status: 'unregistered' });
    expect(await seen(rotated.token)).toBe(401);
    expect(await city.events('extmsg.adapter_removed')).toHaveLength(1);
    // What was answered for the one that is gone counts no more.
    expect((await register(key)).body).toMatchObject({ token: expect.not.stringContaining(first.token) });
  });
});

describe('svc extmsg', () => {
  it('binds, hands over, groups, publishes, lists and tries again', async () => {
    const c = city.conversation();
    const about = ['--provider', 'slack', '--conversation-id', c.conversation_id, '--kind', 'room'];
    const said = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await svc(['extmsg', ...args], { env: { SVC_API_URL: city.stack.urls[0]!, SVC_CITY: 'alpha' } });
      return code === 0 ? stdout : `${code} ${stderr}`;
    };
    expect(await said('bind', ...about, '--session', one)).toMatch(/is bound to .* \(generation 1\)\n$/);
    expect(await said('send', ...about, '--session', one, '--idempotency-key', 'k', 'Hi')).toMatch(/^published as out-k \(dlv-\w+\)\n$/);
    expect(await said('ack', one, '1', ...about)).toBe('acked\n');
    city.adapter.does = (_published, response) => answer(response, 400);
    expect(await said('send', ...about, '--session', one, 'no')).toMatch(/^1 .*not published: 400 \{\} \(dlv-\w+\)\n$/);
    city.adapter.reset();
    const listed = await said('deliveries', '--status', 'failed', '--direction', 'outbound', '--json');
    const failed = listed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; conversation: Conversation });
    const { id } = failed.find(({ conversation }) => conversation.conversation_id === c.conversation_id)!;
    expect(await said('retry', id)).toBe(`${id} is pending\n`);
    await city.settled(c.conversation_id, 2);
    expect(await said('handoff', ...about, '--to', 'mayor')).toMatch(/is bound to agent mayor \(generation 2\)\n$/);
    expect(await said('bindings', 'mayor', '--json')).toContain(`"conversation_id":"${c.conversation_id}"`);
    expect(await said('unbind', ...about)).toMatch(/is bound to agent mayor no more\n$/);
    const named = `slack/${c.conversation_id} \\(${c.kind}\\)`;
    expect(await said('unbind', ...about)).toMatch(new RegExp(`^nothing was bound in ${named}\n$`));
    expect(await said('group', 'show', ...about)).toMatch(new RegExp(`not_found: group not found for conversation ${named}\n$`));
    expect(await said('group', 'make', ...about, '--default', 'ops', '--max-deliveries', '5')).toMatch(/^group-\w+\n$/);
    expect(await said('participant', 'add', 'ops', one, ...about)).toBe(`@ops is ${one}\n`);
    expect(await said('group', 'show', ...about)).toMatch(/20 publications, 5 deliveries\n[^]*@ops +/);
    expect(await said('receive', 'Hello', ...about, '--from', 'Ann')).toBe(`entry 3, for ${one}\n`);
    expect(await said('transcript', ...about, '--order', 'desc', '--limit', '1')).toMatch(/^SEQ .*\n3 +inbound +Ann .*Hello\n/);
    expect(await said('participant', 'remove', 'ops', ...about)).toBe('removed\n');
    expect(await said('adapter', 'add', 'chat', '--account-id', 'cli')).toMatch(
      /^adapter chat\/cli is registered\ntoken +sva_\S+\nsecret +svx_\S+\n$/,
    );
    expect(await said('adapter', 'list')).toMatch(/^chat +cli +chat\/cli +no_callback/m);
    expect(await said('adapter', 'remove', 'chat', '--account-id', 'cli')).toBe('unregistered\n');
  });
});

async function transcriptOf(conversation: Conversation, at: Api): Promise<any[]> {
  return eventually(async () => (await at.get(city.ext(`transcript?${queryOf(conversation)}`))).body.items as any[]);
}
