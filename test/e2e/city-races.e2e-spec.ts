import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { HoldingGate } from '../support/gate.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

beforeAll(async () => {
  stack = await startStack({ workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

const body = (dir: string, name?: string): object => ({ dir, provider: 'loopback', ...(name === undefined ? {} : { name }) });
const path = (dir: string): string => join(stack.citiesRoot, dir);
const sql = <R extends Record<string, unknown>>(text: string): Promise<R[]> => adminAt<R>(stack.databaseUrl, text);
const created = 'request.result.city.create';
const conflicts = (replies: readonly Reply[], detail: RegExp): void => {
  for (const reply of replies) if (reply.status !== 202) expectRefusal(reply, '/v0/city', { status: 409, detail });
};
async function listed(name: string): Promise<Record<string, any> | undefined> {
  return ((await b.get('/v0/cities')).body.items as Record<string, any>[]).find((city) => city.name === name);
}

describe('one Idempotency-Key', () => {
  // Guard: the key's lock and hold, taken with the reservation, and the answer stored with the commit.
  it('used fifty times at once over two replicas makes one city and has one answer', async () => {
    const key = { 'Idempotency-Key': 'fifty' };
    const send = (i: number): Promise<Reply> => (i % 2 === 0 ? a : b).post('/v0/city', body('fifty'), key);
    const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => send(i)));
    for (const reply of replies)
      if (reply.status !== 202)
        expect(reply.body).toMatchObject({
          status: 409,
          code: expect.stringMatching(/^(idempotency-in-flight|operation-in-progress|conflict-wrong-state)$/),
        });
    const answers = replies.filter((reply) => reply.status === 202);
    // What all of them heard is told when none of them made it.
    expect(answers.length === 0 ? replies.map((reply) => reply.text) : [...new Set(answers.map((reply) => reply.text))]).toHaveLength(1);
    await ledger.succeeded(answers[0]!, created);
    expect((await send(1)).text).toBe(answers[0]!.text);
    expect(await sql("select id from operations where target = 'fifty'")).toHaveLength(1);
  });

  it.each(['stop', 'start', 'unregister'])('makes one %s of twenty', async (step) => {
    const send = (i: number): Promise<Reply> =>
      (i % 2 === 0 ? a : b).post(`/v0/city/fifty/${step}`, undefined, { 'Idempotency-Key': `one-${step}` });
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => send(i)));
    for (const reply of replies) if (reply.status !== 202) expect(reply.body).toMatchObject({ status: 409, code: 'idempotency-in-flight' });
    const answers = replies.filter((reply) => reply.status === 202);
    expect(new Set(answers.map((reply) => reply.text)).size).toBe(1);
    await ledger.succeeded(answers[0]!, `request.result.city.${step}`);
    expect((await send(0)).text).toBe(answers[0]!.text);
  });
});

describe('races of creates', () => {
  // Guard: the unique name of reservations and cities; who loses leaves nothing on disk.
  it('for one name in many directories have one winner, and the losers write nothing', async () => {
    const dirs = Array.from({ length: 12 }, (_, i) => `name-race-${i}`);
    const replies = await Promise.all(dirs.map((dir, i) => (i % 2 === 0 ? a : b).post('/v0/city', body(dir, 'wanted'))));
    const winner = replies.findIndex((reply) => reply.status === 202);
    expect(replies.filter((reply) => reply.status === 202)).toHaveLength(1);
    conflicts(replies, /^conflict: city (name already taken: wanted|initialization already in progress at )/);
    await ledger.succeeded(replies[winner]!, created);
    expect(dirs.filter((dir) => existsSync(path(dir)))).toEqual([dirs[winner]]);
    expect((await listed('wanted'))?.path).toBe(path(dirs[winner]!));
  });

  // Guard: the unique directory of reservations; the winner's scaffold survives the losers' roll-backs.
  it('for one directory under many names have one winner, whose scaffold is complete', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `dir-race-${i}`);
    const replies = await Promise.all(names.map((name, i) => (i % 2 === 0 ? a : b).post('/v0/city', body('one-dir', name))));
    const winner = replies.findIndex((reply) => reply.status === 202);
    expect(replies.filter((reply) => reply.status === 202)).toHaveLength(1);
    // Who comes while the winner is at it hears of its city, who comes later of its directory.
    conflicts(replies, /^conflict: (city |\S+ is not free: the city dir-race-\d+ has )/);
    await ledger.succeeded(replies[winner]!, created);
    expect(await readFile(join(path('one-dir'), 'pack.toml'), 'utf8')).toContain(`name = "${names[winner]}"`);
  });

  // Guard: the lock under which directories change hands.
  it('for directories around each other, and rigs among them, have one winner a tree', async () => {
    await ledger.succeeded(await a.post('/v0/city', body('rigged')), created);
    await ledger.succeeded(await b.post('/v0/city', body('rigged-too')), created);
    const one = async (tree: string): Promise<void> => {
      const places = [tree, `${tree}/in`, `${tree}/in/deep`, `${tree}/in/deep/er`];
      const replies = await Promise.all([
        ...places.map((dir, i) => (i % 2 === 0 ? a : b).post('/v0/city', body(dir, `${tree}-${i}`))),
        a.post('/v0/city/rigged/rigs', { name: tree, path: `../${tree}/in` }),
        b.post('/v0/city/rigged-too/rigs', { name: tree, path: `../${tree}` }),
      ]);
      const won = replies.filter(({ status }) => status < 300);
      expect({ tree, statuses: replies.map(({ status }) => status), winners: won.length }).toMatchObject({ winners: 1 });
      for (const reply of replies) if (reply.status >= 300) expect([400, 409, 422, 503]).toContain(reply.status);
      if (won[0]!.status === 202) await ledger.succeeded(won[0]!, created);
    };
    for (const tree of ['tree-1', 'tree-2', 'tree-3']) await one(tree);
    const owners = await sql<{ path: string }>(
      "select dir || '/' as path from cities union all select path from directories where held order by 1",
    );
    const paths = owners.map((owner) => owner.path);
    for (const [i, at] of paths.entries())
      expect(paths.filter((other, n) => n !== i && (other.startsWith(at) || at.startsWith(other)))).toEqual([]);
  });

  // Guard: one unfinished operation a city.
  it('with unregisters of the same city leave every accepted request with its end', async () => {
    const one = async (i: number): Promise<void> => {
      const name = `in-and-out-${i}`;
      const creation = await a.post('/v0/city', body(name));
      const removals = await Promise.all(Array.from({ length: 4 }, (_, n) => (n % 2 === 0 ? a : b).post(`/v0/city/${name}/unregister`)));
      await ledger.succeeded(creation, created);
      for (const reply of removals) {
        if (reply.status === 202) await ledger.ended(reply);
        else expect([404, 409]).toContain(reply.status);
      }
      if (removals.every((reply) => reply.status !== 202))
        await ledger.succeeded(await b.post(`/v0/city/${name}/unregister`), 'request.result.city.unregister');
      expect(await listed(name)).toBeUndefined();
      expect(existsSync(join(path(name), 'city.toml'))).toBe(true);
    };
    await Promise.all([0, 1, 2, 3, 4].map(one));
  });

  // Guard: the lock of a leaving stream before its row (a deadlock's victim would be answered 503; event-log.db-spec.ts has it without luck).
  it('an unregister of a city under load is accepted, and every event it follows was recorded before it', async () => {
    await ledger.succeeded(await a.post('/v0/city', body('busy')), created);
    let going = true;
    const statuses = new Set<number>();
    const emitter = async (at: Api): Promise<void> => {
      while (going) statuses.add((await at.post('/v0/city/busy/events', { type: 'test.busy', actor: 'load' })).status);
    };
    const load = [a, b, a, b].map(emitter);
    await eventually(() => statuses.has(201));
    await ledger.succeeded(await b.post('/v0/city/busy/unregister'), 'request.result.city.unregister');
    going = false;
    await Promise.all(load);
    expect([...statuses].sort()).toEqual([201, 404]);
    const rows = await sql<{ type: string }>(
      "select e.type from events e join event_streams s on s.id = e.stream_id where s.name = 'busy' order by seq desc limit 2",
    );
    expect(rows.map((row) => row.type)).toEqual(['controller.stopped', 'city.unregister_requested']);
  });
});

describe('a config that breaks between create and finalization', () => {
  // Guards: the fence of the city's row, the retry's condition, and that a late success is no second end.
  it('ends in request.failed, shows why, is tried again with growing pauses, and runs once the file is good', async () => {
    const workers = stack.failpoints.slice(2);
    const file = join(path('fragile'), 'city.toml');
    let good = '';
    const breakIt = async (): Promise<void> => {
      good = await readFile(file, 'utf8');
      await writeFile(file, '[workspace\nprovider = 1');
      for (const worker of workers) worker.disarm();
    };
    for (const worker of workers) worker.arm('operation.after_claim', breakIt);
    const reply = await a.post('/v0/city', body('fragile'));
    expect(await ledger.ended(reply)).toMatchObject({
      type: 'request.failed',
      subject: 'fragile',
      payload: { operation: 'city.create', error_code: 'city_config_failed', error_message: expect.stringMatching(/^city\.toml:1:/) },
    });
    expectRefusal(await b.get('/v0/city/fragile'), '/v0/city/fragile', {
      status: 404,
      detail: 'not_found: city not found or not running: fragile',
    });
    const pause = async (): Promise<number> => {
      const [row] = await sql<{ s: number; n: number }>(
        "select extract(epoch from next_retry_at - updated_at)::float8 as s, failures as n from cities where name = 'fragile' and phase = 'init_failed'",
      );
      return row === undefined ? 0 : Math.round(row.s);
    };
    expect(await pause()).toBe(10);
    await sql("update cities set next_retry_at = now() where name = 'fragile'");
    await eventually(async () => (await pause()) === 20);
    expect(await listed('fragile')).toMatchObject({
      running: false,
      status: 'init_failed',
      error: expect.stringMatching(/^city\.toml:1:/),
      error_code: 'city_config_failed',
      failure_class: 'structural',
      next_retry_at: expect.any(String),
    });
    expect(await ledger.ended(await b.post('/v0/city/fragile/start'))).toMatchObject({
      payload: { operation: 'city.start', error_code: 'city_config_failed' },
    });
    await writeFile(file, good);
    await eventually(async () => (await listed('fragile'))?.running === true);
  });

  it('leaves a city that never ran, whose unregister ends without a controller that stopped', async () => {
    const worker = async (): Promise<void> => writeFile(join(path('stillborn'), 'city.toml'), 'provider = ');
    for (const failpoints of stack.failpoints.slice(2)) failpoints.arm('operation.after_claim', worker);
    expect(await ledger.ended(await a.post('/v0/city', body('stillborn')))).toMatchObject({
      payload: { error_code: 'city_config_failed' },
    });
    for (const failpoints of stack.failpoints.slice(2)) failpoints.disarm();
    await ledger.succeeded(await b.post('/v0/city/stillborn/unregister'), 'request.result.city.unregister');
    const rows = await sql<{ type: string }>(
      "select e.type from events e join event_streams s on s.id = e.stream_id where s.name = 'stillborn' order by seq",
    );
    expect(rows.map((row) => row.type)).toEqual(['city.created', 'city.unregister_requested']);
    expect(existsSync(join(path('stillborn'), 'pack.toml'))).toBe(true);
  });
});

describe('a scaffold that does not reach its commit', () => {
  const PLACES = ['scaffold.before_write', 'scaffold.after_first_file', 'scaffold.after_write', 'city.before_commit'] as const;

  // Guard: the roll-back of what was really written.
  it.each(PLACES)('is taken back when it fails at %s, and the directory can be used at once', async (place) => {
    const dir = `fails/${place}`;
    await mkdir(path(dir), { recursive: true });
    await writeFile(join(path(dir), 'notes.md'), 'mine');
    stack.failpoints[0]!.arm(place, () => Promise.reject(new Error('planted')));
    const reply = await a.post('/v0/city', body(dir, place));
    stack.failpoints[0]!.disarm();
    expect(reply.status).toBe(500);
    expect(await readdir(path(dir))).toEqual(['notes.md']);
    expect(await listed(place)).toBeUndefined();
    await ledger.succeeded(await b.post('/v0/city', body(dir, place)), created);
    expect(await readFile(join(path(dir), 'notes.md'), 'utf8')).toBe('mine');
  });

  // Guards: the sweeper over expired reservations; that a creator which comes back late touches nothing it does not hold.
  it('is swept when its creator dies anywhere, and a creator that was only frozen cannot harm its successor', async () => {
    const gates = new Map<string, HoldingGate>();
    const late: Promise<Reply>[] = [];
    for (const place of PLACES) {
      const gate = new HoldingGate();
      gates.set(place, gate);
      stack.failpoints[0]!.arm(place, gate.action());
      late.push(a.post('/v0/city', body(`frozen-${place}`)));
      await eventually(() => gate.held === 1);
      stack.failpoints[0]!.disarm(place);
    }
    const alone = new HoldingGate();
    stack.failpoints[0]!.arm('scaffold.before_write', alone.action());
    const withoutSuccessor = a.post('/v0/city', body('frozen-alone'));
    await eventually(() => alone.held === 1);
    stack.failpoints[0]!.disarm();
    const busy = '/v0/city';
    for (const place of PLACES) {
      const detail = `conflict: city initialization already in progress at ${path(`frozen-${place}`)}`;
      expectRefusal(await b.post(busy, body(`frozen-${place}`)), busy, { status: 409, detail });
    }
    await sql("update city_reservations set expires_at = now() - interval '1 second'");
    await eventually(async () => (await sql('select 1 from city_reservations')).length === 0);
    expect(PLACES.filter((place) => existsSync(path(`frozen-${place}`)))).toEqual([]);
    const successors = await Promise.all(PLACES.map((place) => b.post('/v0/city', body(`frozen-${place}`))));
    await Promise.all(successors.map((reply) => ledger.succeeded(reply, created)));
    const files = async (): Promise<string[][]> =>
      Promise.all(PLACES.map(async (place) => (await readdir(path(`frozen-${place}`), { recursive: true })).sort()));
    const before = await files();
    for (const gate of gates.values()) gate.release();
    for (const reply of await Promise.all(late)) expect([409, 503]).toContain(reply.status);
    expect(await files()).toEqual(before);
    alone.release();
    expectRefusal(await withoutSuccessor, busy, { status: 503, detail: /^unavailable: making the city took too long/ });
    expect(existsSync(path('frozen-alone'))).toBe(false);
    for (const place of PLACES) await ledger.succeeded(await b.post(`/v0/city/frozen-${place}/stop`), 'request.result.city.stop');
    for (const place of PLACES) await ledger.succeeded(await b.post(`/v0/city/frozen-${place}/start`), 'request.result.city.start');
  });
});

it('everything accepted here had exactly one terminal event', () => ledger.settle());
