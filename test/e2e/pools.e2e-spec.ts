import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { lookOften } from '../support/stack-timings.js';

let stack: Stack;
let a: Api;
let ledger: Ledger;

const CITY = `
[[rigs]]
name = "web"

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

[[agent]]
name = "clerk"
provider = "loopback"
prompt_template = "prompt.md"
depends_on = ["archive"]

[[agent]]
name = "archive"
provider = "loopback"
prompt_template = "prompt.md"
`;

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 2 });
  lookOften(stack);
  [a] = stack.urls.map((url) => api(url)) as [Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'port', provider: 'loopback' }), 'request.result.city.create');
  await step('stop');
  await appendFile(join(stack.citiesRoot, 'port', 'city.toml'), CITY.split('[[agent]]')[0]!);
  await appendFile(join(stack.citiesRoot, 'port', 'pack.toml'), CITY.slice(CITY.indexOf('[[agent]]')));
  await writeFile(join(stack.citiesRoot, 'port', 'prompt.md'), 'Good morning.');
  await mkdir(join(stack.citiesRoot, 'port', 'web'));
  await appendFile(join(stack.citiesRoot, 'port', '.gc', 'site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n');
  await step('start');
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

const step = async (name: 'stop' | 'start'): Promise<void> =>
  ledger.succeeded(await a.post(`/v0/city/port/${name}`), `request.result.city.${name}`);
const sessions = <R extends Record<string, unknown>>(where = 'true'): Promise<R[]> =>
  adminAt<R>(stack.databaseUrl, `select * from sessions where ${where} order by pk`);
const live = async (agent: string): Promise<{ id: string; generation: string } | undefined> =>
  (await sessions<{ id: string; generation: string }>(`live and agent = '${agent}'`))[0];
const found = <T>(look: () => Promise<T | undefined>): Promise<T> => eventually(look);

describe('sessions that a city needs', () => {
  it('are started for routed work, once, and shown', async () => {
    const bead = await a.post('/v0/city/port/beads', { title: 'work', rig: 'web', metadata: { 'gc.routed_to': 'web/hand' } });
    expect(bead.status).toBe(201);
    const session = await found(() => live('web/hand'));
    expect(await sessions(`agent = 'web/hand'`)).toHaveLength(1);
    const agents = await a.get('/v0/city/port/agents?pool=web/hand');
    expect(agents.body.items).toMatchObject([
      { name: 'web/hand-1', running: true, pool: 'web/hand' },
      { name: 'web/hand-2', running: false },
    ]);
    // Of the mayor, whom nobody has spoken to, there is none.
    const status = await a.get('/v0/city/port/status');
    expect(status.body).toMatchObject({ running: 1, session_counts_detail: { active: 1 }, agents: { running: 1 } });
    expect((await a.get('/v0/city/port/rigs')).body.items).toMatchObject([{ name: 'web', running_count: 1 }]);
    // It is told of the work once it has nothing else to do.
    await found(
      async () => (await adminAt(stack.databaseUrl, `select 1 from session_messages where source = 'nudge' and status = 'delivered'`))[0],
    );
    expect((await a.get(`/v0/city/port/session/${session.id}`)).body).toMatchObject({ running: true, alias: 'web/hand-1' });
  });

  it('are ended and started again with their rig', async () => {
    const before = await found(() => live('web/hand'));
    const reply = await a.post('/v0/city/port/rig/web/restart');
    expect(reply).toMatchObject({ status: 200, body: { killed: [before.id], failed: [] } });
    await found(async () => {
      const now = await live('web/hand');
      return now !== undefined && now.id === before.id && Number(now.generation) > Number(before.generation) ? now : undefined;
    });
  });

  it('work that is assigned to an agent has it started', async () => {
    await a.post('/v0/city/port/beads', { title: 'for you', assignee: 'boss' });
    const boss = await found(() => live('boss'));
    expect((await a.get('/v0/city/port/agent/boss')).body).toMatchObject({ running: true, session: {} });
    expect((await a.get(`/v0/city/port/session/boss`)).body).toMatchObject({ id: boss.id });
  });

  const looks = async (times: number): Promise<void> => {
    const last = async (): Promise<string> =>
      (await adminAt<{ at: string }>(stack.databaseUrl, 'select max(passed_at)::text as at from city_pools'))[0]!.at;
    for (; times > 0; times--) {
      const before = await last();
      await a.post('/v0/city/port/beads', { title: 'something happens' });
      await found(async () => ((await last()) === before ? undefined : true));
    }
  };

  const configure = async (changed: string): Promise<void> => {
    const pack = join(stack.citiesRoot, 'port', 'pack.toml');
    const text = (await readFile(pack, 'utf8')).replace(/env = \{ CHANGED = .*\n/, '');
    await writeFile(pack, text.replace('name = "boss"\n', `name = "boss"\nenv = { CHANGED = "${changed}" }\n`));
    expect((await a.post('/v0/city/port/config/reload')).status).toBe(200);
  };

  it('go on as they are where a person accepts that, and are told until then', async () => {
    const before = await found(() => live('boss'));
    const at = `/v0/city/port/session/${before.id}`;
    const drift = async (): Promise<object[]> => (await a.get('/v0/city/port/sessions/drift')).body.items;
    const idle = (): Promise<boolean> => found(async () => ((await a.get(at)).body.activity === 'idle' ? true : undefined));
    await idle();
    expect(await drift()).toEqual([]);
    await ledger.succeeded(await a.post(`${at}/messages`, { message: 'work 60000' }), 'request.result.session.message');
    await configure('0');
    const told = { session_id: before.id, template: 'boss', activity: 'in-turn', differs: ['env.CHANGED'] };
    expect(await drift()).toMatchObject([{ ...told, next: 'restart_after_turn' }]);
    const accepted = { status: 200, body: { id: before.id, accepted: true, differs: ['env.CHANGED'] } };
    expect(await a.post(`${at}/accept-drift`)).toMatchObject(accepted);
    expect(await a.post('/v0/city/port/sessions/accept-drift', { agent: 'boss' })).toMatchObject({ body: { accepted: [before.id] } });
    expect((await a.post(`${at}/stop`)).status).toBe(200);
    await idle();
    await looks(2);
    expect(await drift()).toMatchObject([{ differs: ['env.CHANGED'], next: 'accepted' }]);
    expect(await live('boss')).toMatchObject({ generation: before.generation });
  });

  it('go on with a changed configuration once their turn is over, with what they know', async () => {
    const before = await found(() => live('boss'));
    const say = async (message: string): Promise<void> =>
      ledger.succeeded(await a.post(`/v0/city/port/session/${before.id}/messages`, { message }), 'request.result.session.message');
    const said = async (): Promise<string[]> =>
      (await a.get(`/v0/city/port/session/${before.id}/transcript`)).body.turns.map(({ text }: { text: string }) => text);
    const at = `/v0/city/port/session/${before.id}`;
    expect((await a.post(`${at}/permission-mode`, { permission_mode: 'ask' })).status).toBe(200);
    await say('ask');
    await configure('1');
    await looks(2);
    expect(await live('boss')).toMatchObject({ generation: before.generation });
    await found(async () => ((await a.get(`${at}/pending`)).body.pending === undefined ? undefined : true));
    expect((await a.post(`${at}/respond`, { action: 'approve' })).status).toBe(202);
    await found(async () => ((await live('boss'))?.generation === String(Number(before.generation) + 1) ? true : undefined));
    expect(await said()).toContainEqual(expect.stringMatching(/^chosen: /));
    await say('env CHANGED');
    await say('history');
    await found(async () => ((await said()).includes('CHANGED is set') ? true : undefined));
    await found(async () => ((await said()).some((turn) => /^prompts before: [1-9]/.test(turn)) ? true : undefined));
  });

  it('stop before the city is told as stopped, and come back with it', async () => {
    await found(() => live('boss'));
    await step('stop');
    expect(await sessions('runner_id is not null')).toEqual([]);
    await step('start');
    await found(() => live('boss'));
  });

  it('are drained while their agent is suspended, and come back', async () => {
    await found(() => live('boss'));
    await a.post('/v0/city/port/agent/boss/suspend');
    await found(async () => ((await sessions(`runner_id is not null and agent = 'boss'`)).length === 0 ? true : undefined));
    await a.post('/v0/city/port/agent/boss/resume');
    await found(() => live('boss'));
  });

  it('wait for the agents that theirs depends on, which are started for them and stay', async () => {
    await a.post('/v0/city/port/agent/archive/suspend');
    await a.post('/v0/city/port/beads', { title: 'filing', metadata: { 'gc.routed_to': 'clerk' } });
    await looks(2);
    expect(await sessions(`agent in ('clerk', 'archive')`)).toEqual([]);
    await a.post('/v0/city/port/agent/archive/resume');
    const clerk = await found(() => live('clerk'));
    const archive = await found(() => live('archive'));
    const seqOf = async (type: string, { id }: { id: string }): Promise<number> =>
      Number(
        (await adminAt(stack.databaseUrl, `select seq from events where type = '${type}' and subject = '${id}' order by seq`))[0]!.seq,
      );
    expect(await seqOf('session.woke', archive)).toBeLessThan(await seqOf('session.created', clerk));
    expect((await a.post(`/v0/city/port/session/${archive.id}/kill`)).status).toBe(200);
    await found(async () => {
      const again = await live('archive');
      return again !== undefined && (again.id !== archive.id || again.generation !== archive.generation) ? true : undefined;
    });
    expect(await live('clerk')).toMatchObject({ id: clerk.id });
  });

  it('end with the registration of the city', async () => {
    await ledger.succeeded(await a.post('/v0/city/port/unregister'), 'request.result.city.unregister');
    await found(async () => ((await sessions(`state <> 'closed'`)).length === 0 ? true : undefined));
    expect(await sessions(`close_code = 'city-gone'`)).not.toEqual([]);
  });
});
