import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium } from 'playwright-core';
import { ApiProblem, connect, ConnectionError, type Client } from '../../src/client/index.js';
import { startStack, type Stack } from '../support/app.js';
import { startExample, startProgram, type Example } from '../support/example.js';
import { folder } from '../support/folders.js';
import { eventually } from '../support/sse.js';

/** The library and its examples, at two replicas of which each may go. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');
const inBrowser = CHROMIUM === undefined ? it.skip : it;

const CITY = { cityName: 'alpha' };
const EMIT = '/v0/city/{cityName}/events';
let stack: Stack;
let client: Client;
const ends: (() => unknown)[] = [];
let page: Example;

beforeAll(async () => {
  // The page is there before the stack: its address is what the service allows.
  page = await startExample('client/dashboard.mjs', {});
  stack = await startStack({ config: { heartbeatMs: 200, allowedOrigins: [page.url] } });
  client = connect({ url: stack.urls, retryMs: 60_000 });
  const accepted = await client.post('/v0/city', { body: { dir: 'alpha', provider: 'loopback' } });
  expect(await client.waitFor(accepted)).toMatchObject({ ok: true, payload: { request_id: accepted.request_id } });
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(async () => {
  await page?.stop();
  await stack?.stop();
});

const emit = async (n: number): Promise<void> => {
  await client.post(EMIT, { path: CITY, body: { type: 'demo.ticked', actor: 'test', payload: { n } } });
};
const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  SVC_API_URL: stack.urls.join(','),
  SVC_CITY: 'alpha',
  ...more,
});

describe('calls', () => {
  it('throw a problem with its status, code, detail and the id of the request', async () => {
    const refused = client.get('/v0/city/{cityName}/bead/{id}', { path: { ...CITY, id: 'al-99999' } });
    await expect(refused).rejects.toBeInstanceOf(ApiProblem);
    await expect(refused).rejects.toMatchObject({ status: 404, code: 'bead-not-found', requestId: expect.stringMatching(/./) });
  });

  it('say that nobody answers, and whether the request may have arrived', async () => {
    const lost = connect({ url: 'http://127.0.0.1:9', retryMs: 0 }).get('/health');
    await expect(lost).rejects.toBeInstanceOf(ConnectionError);
  });

  it('read a list page by page', async () => {
    for (let n = 1; n <= 5; n++)
      await client.post('/v0/city/{cityName}/beads', { path: CITY, body: { title: `page ${n}`, labels: ['paged'] } });
    const titles: string[] = [];
    for await (const { title } of client.items('/v0/city/{cityName}/beads', { path: CITY, query: { label: 'paged', limit: 2 } }))
      titles.push(title);
    expect(titles.sort()).toEqual([1, 2, 3, 4, 5].map((n) => `page ${n}`));
  });

  it('wait for both ends of a request', async () => {
    const dir = join(stack.citiesRoot, 'gamma');
    const made = await client.post('/v0/city', { body: { dir: 'gamma', provider: 'loopback' } });
    expect((await client.waitFor(made, { operation: 'city.create' })).ok).toBe(true);
    const gone = await client.post('/v0/city/{cityName}/unregister', { path: { cityName: 'gamma' } });
    expect((await client.waitFor(gone)).ok).toBe(true);
    await writeFile(join(dir, 'city.toml'), 'this is = = no TOML');
    const bad = await client.post('/v0/cities/register', { body: { dir: 'gamma' } });
    const end = await client.waitFor(bad);
    expect(end).toMatchObject({ ok: false, failure: { request_id: bad.request_id, error_message: expect.any(String) } });
  });

  it('stop waiting with their signal', async () => {
    const signal = AbortSignal.timeout(50);
    const never = client.waitFor({ request_id: 'req-none', event_cursor: await client.head() }, { signal });
    await expect(never).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('events', () => {
  it('come each once and in order over replicas that go, and over lives of the reader', async () => {
    const extra = await stack.add('api');
    const stop = new AbortController();
    ends.push(() => stop.abort());
    const reader = connect({ url: [extra.url, ...stack.urls], retryMs: 60_000 });
    const after = await reader.head({ city: 'alpha' });
    const seen: number[] = [];
    let position: string | undefined;
    const read = async (until: number): Promise<void> => {
      const at = position === undefined ? { after } : { lastEventId: position };
      const events = reader.events({ city: 'alpha', types: ['demo.ticked'], ...at, signal: stop.signal, pauseMs: 10 });
      for await (const event of events) {
        seen.push((event.payload as { n: number }).n);
        position = events.lastEventId;
        if (seen.length === until) return;
      }
    };
    const first = read(30);
    for (let n = 0; n < 20; n++) await emit(n);
    await eventually(() => seen.length >= 10);
    // The replica that sends goes, in the middle of writers.
    const going = extra.stop();
    for (let n = 20; n < 40; n++) await emit(n);
    await Promise.all([first, going]);
    const second = read(60);
    for (let n = 40; n < 60; n++) await emit(n);
    await second;
    expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });

  it('of several cities come as one stream, which ends with its signal', async () => {
    const stop = new AbortController();
    const after = await client.head();
    await emit(1);
    const cities: string[] = [];
    for await (const { city, type } of client.events({ cities: ['alpha'], types: ['demo.ticked'], after, signal: stop.signal })) {
      cities.push(`${city} ${type}`);
      stop.abort();
    }
    expect(cities).toEqual(['alpha demo.ticked']);
  });
});

describe('a session', () => {
  it('answers, asks, and tells its turn', async () => {
    const accepted = await client.post('/v0/city/{cityName}/sessions', {
      path: CITY,
      body: { kind: 'provider', name: 'loopback', alias: 'chat' },
    });
    expect((await client.waitFor(accepted, { city: 'alpha' })).ok).toBe(true);
    const session = client.session('alpha', 'chat');
    expect(await (await session.send('hello')).answer()).toMatchObject({ text: 'echo: hello' });
    const asked: string[] = [];
    const turn = await session.send('ask');
    const answer = await turn.answer({
      onQuestion: ({ prompt = '', choices = [] }) => {
        asked.push(prompt);
        return { action: choices[0]!.id };
      },
    });
    expect(asked).toEqual(['May I?']);
    expect(answer.text).toContain('allow');
    // It is behind every position that there is now.
    const late = session.turn(turn.requestId, await session.position());
    expect(await late.answer({ signal: AbortSignal.timeout(20_000) })).toEqual(answer);
  });
});

describe('the examples', () => {
  it('an agent takes what is ready and closes it, also what comes later', async () => {
    const bead = async (title: string): Promise<string> =>
      (await client.post('/v0/city/{cityName}/beads', { path: CITY, body: { title, assignee: 'mayor' } })).id;
    const first = await bead('three small words');
    const agent = startProgram('client/agent.mjs', environment({ SVC_AGENT: 'mayor' }));
    ends.push(() => agent.stop());
    await agent.says(new RegExp(`^${first} \\(claim \\d+\\): 3 words$`, 'm'));
    const second = await bead('two words');
    await agent.says(new RegExp(`^${second} .*: 2 words$`, 'm'));
    const { status } = await client.get('/v0/city/{cityName}/bead/{id}', { path: { ...CITY, id: second } });
    expect(status).toBe('closed');
  });

  it('a bot answers mail once, killed and begun again', async () => {
    const state = join(await folder('svc-bot-'), 'position');
    const start = () => startProgram('client/bot.mjs', environment({ SVC_AGENT: 'chat', BOT_STATE: state }));
    const mail = async (subject: string): Promise<string> =>
      (await client.post('/v0/city/{cityName}/mail', { path: CITY, body: { from: 'mayor', to: 'human', subject, body: 'please' } })).id;
    const one = start();
    ends.push(() => one.stop());
    // It has begun when it has a position: what comes from now on it hears.
    await one.says(/^listening$/m);
    const first = await mail('hello');
    await one.says(new RegExp(`^${first}: echo: hello`, 'm'));
    await eventually(async () => (await readFile(state, 'utf8').catch(() => '')) !== '');
    await one.stop('SIGKILL');
    const second = await mail('again');
    const two = start();
    ends.push(() => two.stop());
    await two.says(new RegExp(`^${second}: echo: again`, 'm'));
    const replies = async (id: string): Promise<number> => {
      const { items } = await client.get('/v0/city/{cityName}/mail/thread/{id}', { path: { ...CITY, id } });
      return (items ?? []).filter(({ from }) => from === 'human').length;
    };
    expect([await replies(first), await replies(second)]).toEqual([1, 1]);
  });

  inBrowser('a dashboard shows in a browser how the work stands, over a replica that goes', async () => {
    const extra = await stack.add('api');
    const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
    ends.push(() => browser.close());
    const visit = await browser.newPage();
    visit.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    visit.on('pageerror', (error) => complaints.push(error.message));
    await visit.goto(`${page.url}/?${[extra.url, ...stack.urls].map((url) => `api=${encodeURIComponent(url)}`).join('&')}`);
    const cell = (): Promise<string> => visit.locator('#alpha').innerText();
    await visit.locator('#alpha').waitFor();
    const open = async (): Promise<number> => Number(/(\d+) open/.exec(await cell())?.[1]);
    const before = await open();
    await extra.stop();
    await client.post('/v0/city/{cityName}/beads', {
      path: CITY,
      body: { title: 'seen by the dashboard', defer_until: '9999-12-31T23:59:59Z' },
    });
    await eventually(async () => (await open()) === before + 1);
    expect(complaints).toEqual([]);
  });
});
