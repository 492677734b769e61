import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { startExample, type Example } from '../support/example.js';
import { AdapterServer, ON_THIS_HOST } from '../support/extmsg-city.js';
import { api, outcome, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

/** The examples as they are shipped, against a city whose agent answers what comes from outside. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');
const described = CHROMIUM === undefined ? describe.skip : describe;

let stack: Stack;
let a: Api;
const examples: Example[] = [];
const path = (rest: string): string => `/v0/city/alpha/${rest}`;

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 0, config: ON_THIS_HOST });
  a = api(stack.urls[0]!);
  // Its agents reach the API.
  await stack.add('worker', { ...ON_THIS_HOST, apiUrl: stack.urls[0]! });
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
  const patch = { name: 'mayor', env: { LOOPBACK_ANSWERS: 'outside' } };
  expect(outcome(await a.send('PUT', path('patches/agents'), patch))).toBe(200);
});
afterAll(async () => {
  for (const example of examples) await example.stop();
  await stack?.stop();
});

async function start(file: string, adapter: object, env: (given: { secret: string }) => Record<string, string>): Promise<Example> {
  const { body } = await a.post(path('extmsg/adapters'), adapter);
  const common = { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha', SVC_ADAPTER_TOKEN: body.token as string };
  const example = await startExample(file, { ...common, ...env(body) });
  examples.push(example);
  return example;
}

described('the chat page', () => {
  let browser: Browser;
  let url: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    const adapter = { provider: 'page', account_id: 'default', transport: 'stream' };
    ({ url } = await start('chat/server.mjs', adapter, () => ({ SVC_AGENT: 'mayor' })));
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  const visit = async (room: string): Promise<Page> => {
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => (message.type() === 'error' ? complaints.push(message.text()) : undefined));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${url}/#${room}`);
    await page.getByText(`in ${room}`).waitFor();
    return page;
  };
  const write = async (page: Page, who: string, text: string): Promise<void> => {
    await page.getByLabel('Your name').fill(who);
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button').click();
  };
  const lines = (page: Page): Promise<string[]> => page.locator('#said li').allTextContents();

  it('has people in their browsers talk to an agent, and to each other', async () => {
    const [ann, ben, elsewhere] = [await visit('lobby'), await visit('lobby'), await visit('other')];
    await write(ann, 'Ann', 'Is it <b>done</b>?');
    const all = ['Ann: Is it <b>done</b>?', 'agent: echo: Is it <b>done</b>?'];
    for (const page of [ann, ben]) await eventually(async () => (await lines(page)).length === 2);
    expect([await lines(ann), await lines(ben), await lines(elsewhere)]).toEqual([all, all, []]);
    await write(ben, 'Ben', 'Thank you');
    const more = [...all, 'Ben: Thank you', 'agent: echo: Thank you'];
    await eventually(async () => (await lines(ann)).length === 4);
    expect(await lines(ann)).toEqual(more);
    // Who comes later finds what was said, from the transcript.
    const late = await visit('lobby');
    await eventually(async () => (await lines(late)).length === 4);
    expect(await lines(late)).toEqual(more);
    expect(complaints).toEqual([]);
  });

  it('takes nothing that a page of others could send, and no room of a strange name', async () => {
    const say = async (room: string, type: string, body: string): Promise<number> =>
      (await fetch(`${url}/say/${room}`, { method: 'POST', headers: { 'content-type': type }, body })).status;
    expect(await say('lobby', 'text/plain', '{"id":"1","who":"x","text":"y"}')).toBe(415);
    expect(await say('lobby', 'application/json', '{"id":"1","who":"x"}')).toBe(422);
    expect(await say('..%2fx', 'application/json', '{"id":"1","who":"x","text":"y"}')).toBe(404);
    expect(await say('lobby', 'application/json', JSON.stringify({ text: 'x'.repeat(300_000) }))).toBe(413);
  });
});

describe('the bridge', () => {
  let other: AdapterServer;
  let url: string;
  const SECRET = 'shared';

  beforeAll(async () => {
    other = await AdapterServer.open();
    other.does = (_published, response) => void response.writeHead(200).end('{"id":"theirs-1"}');
    // It has to be there before it is registered: its address is its own choice.
    const registered = { provider: 'hooks', account_id: 'default' };
    ({ url } = await start('webhook-bridge/bridge.mjs', registered, ({ secret }) => ({
      ...{ SVC_ADAPTER_SECRET: secret, WEBHOOK_SECRET: SECRET, TARGET_URL: `${other.url}/in` },
    })));
    expect(outcome(await a.post(path('extmsg/adapters'), { ...registered, callback_url: url }))).toBe(201);
    const conversation = { scope_id: 'alpha', provider: 'hooks', account_id: 'default', conversation_id: 'ops', kind: 'room' };
    expect(outcome(await a.post(path('extmsg/bind'), { conversation, agent_name: 'mayor' }))).toBe(200);
  });
  afterAll(() => other?.close());

  const signed = (body: string, secret = SECRET, at = Math.floor(Date.now() / 1_000)): Record<string, string> => ({
    'X-Timestamp': String(at),
    'X-Signature': `sha256=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`,
  });
  const hook = (message: object, headers = signed(JSON.stringify(message))): Promise<Reply> =>
    api(url).post('/hook', message, { 'Content-Type': 'application/json', ...headers });
  const ops = { conversation: 'ops', from: 'Ann' };

  it('hands over what is signed, once, and posts what the agent answers', async () => {
    const message = { ...ops, id: 'm-1', text: 'Is it done?' };
    expect((await hook(message)).body).toEqual({ sequence: 1, duplicate: false });
    expect((await hook(message)).body).toEqual({ sequence: 1, duplicate: true });
    const [sent] = await eventually(() => other.published.length > 0 && other.published);
    expect(sent!.body).toEqual({ conversation: 'ops', id: 'ops/echo-1', text: 'echo: Is it done?' });
    const { 'x-timestamp': at, 'x-signature': signature } = sent!.headers;
    expect(signature).toBe(signed(sent!.text, SECRET, Number(at))['X-Signature']);
    const { items } = await eventually(async () => {
      const { body } = await a.get(path('extmsg/deliveries?direction=outbound&status=delivered'));
      return (body.items as any[]).some(({ conversation }) => conversation.provider === 'hooks') && body;
    });
    expect(items.filter(({ conversation }: any) => conversation.provider === 'hooks')).toMatchObject([{ state: 'delivered', sequence: 2 }]);
  });

  it('posts under an id that no other conversation has, also where a session publishes under one key in both', async () => {
    const conversation = { scope_id: 'alpha', provider: 'hooks', account_id: 'default', conversation_id: 'dev', kind: 'room' };
    expect(outcome(await a.post(path('extmsg/bind'), { conversation, agent_name: 'mayor' }))).toBe(200);
    other.reset();
    other.does = (_published, response) => void response.writeHead(200).end('{}');
    expect((await hook({ ...ops, conversation: 'dev', id: 'm-1', text: 'And there?' })).status).toBe(200);
    const [sent] = await eventually(() => other.published.length > 0 && other.published);
    // In `ops` its key was `echo-1` as well.
    expect(sent!.body).toEqual({ conversation: 'dev', id: 'dev/echo-1', text: 'echo: And there?' });
  });

  it('refuses what is not signed, or was long ago, and says which failures are worth another try', async () => {
    const message = { ...ops, id: 'm-2', text: 'x' };
    const text = JSON.stringify(message);
    for (const headers of [{}, signed(text, 'other'), signed(`${text} `), signed(text, SECRET, Math.floor(Date.now() / 1_000) - 400)])
      expect((await hook(message, headers as Record<string, string>)).status).toBe(401);
    expect((await api(url).post('/publish', message, signed(text))).status).toBe(401);
    expect((await hook({ ...ops, id: 'm-3' })).status).toBe(422);
    expect((await hook({ ...ops, id: 'm-3', text: 'x', conversation: 'elsewhere' })).status).toBe(409);
    const answers = [503, 429, 200];
    other.reset();
    other.does = (_published, response) => void response.writeHead(answers[other.published.length - 1] ?? 200).end('{"id":"theirs-2"}');
    expect((await hook({ ...ops, id: 'm-4', text: 'again' })).status).toBe(200);
    const tries = await eventually(() => other.published.length >= 3 && other.published);
    expect(tries.map(({ body }) => body)).toEqual(Array(3).fill(expect.objectContaining({ id: 'ops/echo-3', text: 'echo: again' })));
  });
});
