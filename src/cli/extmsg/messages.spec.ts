import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from '../testing/server.js';
import { sendTimings } from './messages.command.js';

const EXTMSG = '/v0/city/alpha/extmsg';
const SEND = ['extmsg', 'send', 'It is.', '--provider', 'chat', '--conversation-id', 'lobby', '--kind', 'room', '--session', 'mayor'];
const PENDING = { DeliveryID: 'dlv-1', Receipt: { Delivered: false, MessageID: '', FailureKind: 'pending' } };
const { tellAfterMs } = sendTimings;
let server: TestServer;
afterEach(async () => {
  sendTimings.tellAfterMs = tellAfterMs;
  await server.close();
});

const list = (...adapters: object[]): Handler => {
  const items = adapters.map((adapter) => ({ provider: 'chat', account_id: 'default', name: 'chat/default', ...adapter }));
  return (_request, response) => json(response, { items, total: items.length });
};

async function send(
  adapters: Handler,
  until: (io: FakeIo) => boolean,
  more: readonly string[] = [],
): Promise<{ code: number; io: FakeIo }> {
  const io = fakeIo({});
  let answer: (() => void) | undefined;
  server = await testServer({
    [`${EXTMSG}/adapters`]: adapters,
    [`${EXTMSG}/outbound`]: (_request, response) => void (answer = () => json(response, PENDING)),
  });
  const ended = runCli([...SEND, ...more, '--api', server.url, '--city', 'alpha'], io);
  const asked = (): boolean => answer !== undefined && server.requests.some(({ line }) => line.includes('/adapters'));
  while (!asked() || !until(io)) await new Promise((resolve) => setTimeout(resolve, 5));
  answer!();
  return { code: await ended, io };
}

describe('svc extmsg send', () => {
  beforeEach(() => {
    sendTimings.tellAfterMs = 1;
  });

  it('says in a moment that nobody is connected who would take it, and what connects somebody', async () => {
    const { code, io } = await send(
      list({ account_id: 'b', health: 'ok' }, { transport: 'stream', health: 'disconnected' }),
      (it) => it.stderr !== '',
    );
    expect(io.stderr).toBe(
      'nobody is connected for chat/default (`svc extmsg connect chat`): waiting for 30 s; the message itself waits for a day\n',
    );
    expect([code, io.stdout]).toEqual([0, 'not published yet: it is tried on (dlv-1)\n']);
  });

  it.each([
    ['is silent', { health: 'stale' }, 'has not been heard of for longer than its lease'],
    ['fails', { health: 'failing', last_error: '503 \u001b[31mclosed' }, 'fails (503 ␛[31mclosed)'],
  ])('says that the adapter %s', async (_what, adapter, said) => {
    const { io } = await send(list(adapter), (it) => it.stderr !== '');
    expect(io.stderr).toBe(`the adapter for chat/default ${said}: waiting for 30 s; the message itself is tried for 15 minutes\n`);
  });

  it('finds the adapter under the name that the service has made of what was written, among as many as a city may have', async () => {
    const others = Array.from({ length: 999 }, (_, at) => ({ provider: `other-${at}`, health: 'ok' }));
    const written = ['--provider', 'Chat', '--account-id', ' b '];
    const { io } = await send(
      list(...others, { account_id: 'b', transport: 'stream', health: 'disconnected' }),
      (it) => it.stderr !== '',
      written,
    );
    expect(io.stderr).toContain('nobody is connected for chat/b (`svc extmsg connect chat --account-id b`)');
  });

  it.each<[string, Handler]>([
    ['somebody is connected', list({ health: 'ok' }, { account_id: 'b', transport: 'stream', health: 'disconnected' })],
    ['it may not look', (_request, response) => problem(response, 403, 'forbidden: no')],
  ])('says nothing of it where %s', async (_where, adapters) => {
    const { code, io } = await send(adapters, () => true);
    expect([code, io.stderr, io.stdout]).toEqual([0, '', 'not published yet: it is tried on (dlv-1)\n']);
  });
});

describe('what svc extmsg send says of a message that is tried on', () => {
  it('has what the last try has come to', async () => {
    const Receipt = { ...PENDING.Receipt, Error: '503 closed for lunch' };
    server = await testServer({ [`${EXTMSG}/outbound`]: (_request, response) => json(response, { ...PENDING, Receipt }) });
    const io = fakeIo({});
    expect(await runCli([...SEND, '--api', server.url, '--city', 'alpha'], io)).toBe(0);
    expect(io.stdout).toBe('not published yet: it is tried on (dlv-1); the last try: 503 closed for lunch\n');
  });
});

describe('a message without a word', () => {
  it('is not published', async () => {
    server = await testServer({});
    const io = fakeIo({});
    const words = SEND.map((word) => (word === 'It is.' ? ' ' : word));
    expect(await runCli([...words, '--api', server.url, '--city', 'alpha'], io)).toBe(2);
    expect([io.stderr, server.requests]).toEqual(['svc extmsg send: the text is empty\n', []]);
  });
});

describe('svc extmsg transcript', () => {
  it('names the conversation in which nothing was said, with its kind', async () => {
    server = await testServer({ [`${EXTMSG}/transcript`]: (_request, response) => json(response, { items: [], total: 0 }) });
    const io = fakeIo({});
    const words = ['extmsg', 'transcript', '--provider', 'chat', '--conversation-id', 'lobby'];
    expect(await runCli([...words, '--api', server.url, '--city', 'alpha'], io)).toBe(0);
    expect(io.stderr).toBe('nothing was said in chat/lobby (dm)\n');
  });
});

describe('svc extmsg receive', () => {
  const RECEIVE = ['extmsg', 'receive', 'Hello.', '--provider', 'chat', '--conversation-id', 'lobby', '--from', 'Ann'];

  it.each([
    ['the conversation, with its kind', [], 'nobody answers in chat/lobby (dm); bind it with `svc extmsg bind`\n'],
    ['the handle', ['--kind', 'room', '--to', '@dev'], 'nobody is @dev in chat/lobby (room); see `svc extmsg group show`\n'],
  ])('that nobody takes names %s', async (_what, more, said) => {
    server = await testServer({ [`${EXTMSG}/inbound`]: (_request, response) => json(response, { TranscriptEntry: null }) });
    const io = fakeIo({});
    expect(await runCli([...RECEIVE, ...more, '--api', server.url, '--city', 'alpha'], io)).toBe(0);
    expect(io.stdout).toBe(said);
  });
});
