import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually, openStream } from '../support/sse.js';

/** What has made systems like this one hang, lose or mix up things, with real agents: one city for all of it. */
const KEY = 'sk-of-the-upstream-0123456789';

const RIG = '\n[[rigs]]\nname = "web"\n';
const AGENTS = `
[upstreams.gate]
base_url = "https://gate.example"
api_key = "${KEY}"

[[agent]]
name = "hand"
provider = "loopback"
dir = "web"
prompt_template = "prompt.md"
max_active_sessions = 2

[[agent]]
name = "boss"
provider = "loopback"
prompt_template = "prompt.md"
max_active_sessions = 1
env = { PASSWORD = "${KEY}" }
`;

let stack: Stack;
let a: Api;
let b: Api;

beforeAll(async () => {
  stack = await startStack({ apis: 2, workers: 1 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'moor', provider: 'loopback' }), 'request.result.city.create');
  appendFileSync(file('city.toml'), RIG);
  appendFileSync(file('pack.toml'), AGENTS);
  appendFileSync(file('.gc/site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n');
  await writeFile(file('prompt.md'), 'Good morning.');
  await mkdir(file('web'));
  expect((await a.post(path('config/reload'))).status).toBe(200);
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const file = (name: string): string => join(stack.citiesRoot, 'moor', name);
const path = (rest: string): string => `/v0/city/moor/${rest}`;
const session = async (id: string): Promise<any> => (await b.get(path(`session/${id}`))).body;
const found = <T>(look: () => Promise<T | undefined>): Promise<T> => eventually(look);
const ended = async (reply: Reply): Promise<any> => {
  if (reply.status !== 202) throw new Error(reply.text);
  const events = path(`events?after_seq=0&limit=1000&payload_match=request_id%3D${reply.body.request_id}`);
  return found(async () => (await b.get(events)).body.items[0]);
};
const make = async (body: object = { kind: 'provider', name: 'loopback' }): Promise<string> => {
  const reply = await a.post(path('sessions'), body);
  expect(await ended(reply)).toMatchObject({ type: 'request.result.session.create' });
  return reply.body.session_id as string;
};
const say = async (id: string, message: string): Promise<void> => {
  expect(await ended(await a.post(path(`session/${id}/messages`), { message }))).toMatchObject({ type: 'request.result.session.message' });
};
const said = async (id: string): Promise<string[]> =>
  (await b.get(path(`session/${id}/transcript`))).body.turns.map(({ text }: { text: string }) => text);
const idle = (id: string): Promise<unknown> => found(async () => (await session(id)).activity === 'idle' || undefined);
const rows = <R extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<R[]> =>
  adminAt<R>(stack.databaseUrl, text, values);
const close = async (...ids: string[]): Promise<void> => void (await Promise.all(ids.map((id) => a.post(path(`session/${id}/close`)))));

/** Command lines and environments of a session's processes on this machine. */
function processes(id: string): { line: string; env: string[] }[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const env = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      const ours = env.some((line) => line.startsWith(`SVC_CITY_PATH=${stack.citiesRoot}`));
      return ours && env.includes(`SVC_SESSION_ID=${id}`) ? [{ line: readFileSync(`/proc/${pid}/cmdline`, 'utf8'), env }] : [];
    } catch {
      return [];
    }
  });
}

it('sessions that work in one directory have each their own words, also after another process', async () => {
  const ids = [await make(), await make(), await make()];
  expect(new Set(await Promise.all(ids.map(async (id) => (await session(id)).work_dir as string))).size).toBe(1);
  await Promise.all(ids.map((id) => say(id, `only for ${id}`)));
  await Promise.all(ids.map((id) => found(async () => (await said(id)).includes(`echo: only for ${id}`) || undefined)));
  expect((await a.post(path(`session/${ids[0]}/kill`))).status).toBe(200);
  await say(ids[0]!, 'history');
  await found(async () => (await said(ids[0]!)).includes('prompts before: 1') || undefined);
  for (const id of ids)
    for (const other of ids) expect([other, (await said(id)).some((text) => text.includes(`for ${other}`))]).toEqual([other, id === other]);
  await close(...ids);
});

it('looking at a session changes nothing of it; in a turn that goes on for long it was active when its last one ended', async () => {
  const id = await make();
  await say(id, 'hello');
  await idle(id);
  const state = async (): Promise<unknown> =>
    (
      await rows(
        `select to_jsonb(s) as session, to_jsonb(l) as log from sessions s join session_logs l on l.session_pk = s.pk where s.id = $1`,
        [id],
      )
    )[0];
  const before = await state();
  for (const rest of ['', '?peek=true', '/transcript', '/transcript?format=structured', '/pending', '/agents', '/messages'])
    expect((await a.get(path(`session/${id}${rest}`))).status).toBe(200);
  for (const rest of ['sessions?peek=true', 'pending', 'agents?peek=true', 'status']) expect((await b.get(path(rest))).status).toBe(200);
  const stream = await openStream(`${stack.urls[1]!}${path(`session/${id}/stream`)}`);
  await stream.until((frame) => frame.event === 'turn');
  await stream.close();
  expect(await state()).toEqual(before);
  const { last_active } = await session(id);
  expect(last_active).toEqual(expect.any(String));
  await say(id, 'stream 3 1');
  await say(id, 'wait 60000');
  await found(async () => (await said(id)).some((text) => text.includes('wait 60000')) || undefined);
  const later = (await session(id)).last_active as string;
  expect(Date.parse(later)).toBeGreaterThan(Date.parse(last_active as string));
  expect(await session(id)).toMatchObject({ activity: 'in-turn', last_active: later });
  await close(id);
});

it('a message with a key is said once, however many send it at once, and wherever', async () => {
  const id = await make();
  for (const [step, body] of [
    ['submit', { message: 'just once', intent: 'follow_up' }],
    ['messages', { message: 'and this' }],
  ] as const) {
    const send = (at: Api): Promise<Reply> => at.post(path(`session/${id}/${step}`), body, { 'Idempotency-Key': `${step}-${id}` });
    const replies = await Promise.all([a, b, a, b].map(send));
    const [first, ...others] = replies.filter(({ status }) => status === 202);
    for (const { body: told } of others) expect(told).toEqual(first!.body);
    for (const reply of replies) if (reply.status !== 202) expect(reply.body.code).toBe('idempotency-in-flight');
    await ended(first!);
    expect((await send(b)).body).toEqual(first!.body);
  }
  await found(async () => (await said(id)).includes('echo: and this') || undefined);
  expect((await said(id)).filter((text) => text.startsWith('echo: '))).toEqual(['echo: just once', 'echo: and this']);
  await close(id);
});

it('what is secret is in no command line, and nothing of the service is in an environment', async () => {
  const id = await make({ kind: 'agent', name: 'boss', message: 'do not print this' });
  const all = processes(id);
  expect(all.length).toBeGreaterThan(0);
  const token = all[0]!.env.find((one) => one.startsWith('SVC_SESSION_TOKEN='))!.slice('SVC_SESSION_TOKEN='.length);
  expect(token.length).toBeGreaterThan(20);
  for (const { line, env } of all) {
    for (const secret of [token, KEY, 'do not print this', stack.databaseUrl]) expect(line).not.toContain(secret);
    expect(env).toContain(`PASSWORD=${KEY}`);
    for (const one of env) {
      expect(one).not.toContain(stack.databaseUrl);
      expect(one).not.toMatch(/^(SVC_(DATABASE|REDIS|DATA|AUTH)|TEST_|NODE_OPTIONS|JEST)/);
    }
  }
  for (const rest of [`session/${id}`, 'agent/boss', 'config', 'config/explain']) {
    const reply = await a.get(path(rest));
    expect([rest, reply.status, reply.text.includes(KEY)]).toEqual([rest, 200, false]);
  }
  await close(id);
});

describe('a rig that is suspended', () => {
  const routed = (): Promise<Reply> => a.post(path('beads'), { title: 'work', rig: 'web', metadata: { 'gc.routed_to': 'web/hand' } });
  const ofHand = (): Promise<{ id: string; live: boolean }[]> =>
    rows(`select id, live from sessions where agent = 'web/hand' and state <> 'closed'`);

  it('starts nothing, forgets nothing, says so to who asks, and leaves the files as they are', async () => {
    const files = async (): Promise<string[]> =>
      Promise.all(['city.toml', 'pack.toml', '.gc/site.toml'].map((name) => readFile(file(name), 'utf8')));
    const before = await files();
    const bosses = (): Promise<object[]> => rows(`select 1 from sessions where agent = 'boss' and live`);
    expect(await bosses()).toEqual([]);
    expect((await a.post(path('rig/web/suspend'))).status).toBe(200);
    expect((await routed()).status).toBe(201);
    // Whoever looks after the city has seen the rig's work, when this later work has its session.
    expect((await a.post(path('beads'), { title: 'for you', assignee: 'boss' })).status).toBe(201);
    await found(async () => (await bosses())[0]);
    expect(await ofHand()).toEqual([]);
    const made = path('sessions');
    expectRefusal(await b.post(made, { kind: 'agent', name: 'web/hand' }), made, { status: 409, detail: /rig web is suspended$/ });
    expect((await a.post(path('rig/web/resume'))).status).toBe(200);
    await found(async () => (await ofHand()).find(({ live }) => live));
    expect(await ofHand()).toHaveLength(1);
    expect((await a.post(path('agent/boss/suspend'))).status).toBe(200);
    expect((await a.post(path('agent/boss/resume'))).status).toBe(200);
    expect(await files()).toEqual(before);
  });
});
