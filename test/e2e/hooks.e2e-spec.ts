import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminAt } from '../support/database.js';
import { DEEP } from '../support/depth.js';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;

beforeAll(async () => {
  stack = await startStack({ workers: 2, config: { runnerCapacity: 0 } });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  const replies = await Promise.all(['busy', 'calm', 'rough'].map((dir) => a.post('/v0/city', { dir, provider: 'loopback' })));
  await Promise.all(replies.map((reply) => ledger.succeeded(reply, 'request.result.city.create')));
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const at = (city: string, path: string): string => `/v0/city/${city}/${path}`;
async function create(city: string, more: object = {}): Promise<string> {
  const reply = await a.post(at(city, 'beads'), { title: 'work', metadata: { 'gc.routed_to': 'mayor' }, ...more });
  expect(reply.status).toBe(201);
  return reply.body.id as string;
}
const head = (reply: Reply): number => Number(reply.headers.get('x-svc-index'));
async function events(city: string, after: number): Promise<{ seq: number; type: string; subject: string; actor: string; payload: any }[]> {
  const found: { seq: number; type: string; subject: string; actor: string; payload: any }[] = [];
  for (let from = after; ; from = found.at(-1)!.seq) {
    const { body } = await b.get(at(city, `events?after_seq=${from}&limit=1000`));
    found.push(...body.items);
    if (body.next_cursor === undefined) return found;
  }
}

const AGENTS = DEEP ? 50 : 20;
const BEADS = DEEP ? 1_000 : 100;

describe(`${AGENTS} agents at two replicas`, () => {
  it(`share ${BEADS} beads: none twice, none lost, every loser told and on record`, async () => {
    const ids: string[] = [];
    for (let i = 0; i < BEADS; i += AGENTS) ids.push(...(await Promise.all(Array.from({ length: AGENTS }, () => create('busy')))));
    const start = head(await a.get(at('busy', 'hook/demand')));
    expect((await a.get(at('busy', 'hook/demand'))).body).toEqual({ items: [{ route: 'mayor', ready: BEADS }], total: BEADS });
    const won = new Map<string, string>();
    const doubly: string[] = [];
    let lost = 0;
    const agent = async (n: number): Promise<void> => {
      const name = `mayor-${n}`;
      const [own, other] = n % 2 === 0 ? [a, b] : [b, a];
      for (;;) {
        const reply = await own.post(at('busy', 'hook/claim'), { agent: name });
        expect(reply.status).toBe(200);
        const { action, bead_id: id, assignee, fence } = reply.body;
        if (action === 'drain') return;
        expect(assignee).toBe(name);
        if (won.has(id)) doubly.push(id);
        won.set(id, name);
        // A rival of a bead that is taken loses, at the other replica too.
        if (won.size % 10 === 0) {
          const rival = await other.post(at('busy', `bead/${id}/claim`), { assignee: `rival-${n}` });
          expectRefusal(rival, at('busy', `bead/${id}/claim`), {
            status: 409,
            detail: `conflict: bead ${id} is owned by ${name}`,
            fields: ['body.assignee'],
          });
          lost++;
        }
        expect((await other.post(at('busy', `bead/${id}/heartbeat`), { assignee, fence })).status).toBe(200);
        expect((await other.post(at('busy', `bead/${id}/close`))).status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: AGENTS }, (_, n) => agent(n + 1)));
    expect(doubly).toEqual([]);
    expect([...won.keys()].sort()).toEqual([...ids].sort());
    const log = await events('busy', start);
    const count = (type: string): number => log.filter((e) => e.type === type).length;
    expect({ updated: count('bead.updated'), closed: count('bead.closed'), rejected: count('bead.claim_rejected') }).toEqual({
      updated: BEADS,
      closed: BEADS,
      rejected: lost,
    });
    expect(lost).toBeGreaterThan(0);
    for (const e of log)
      if (e.type === 'bead.updated') expect([e.actor, e.payload.bead.assignee]).toEqual([won.get(e.subject), won.get(e.subject)]);
  });
});

describe('a claim over HTTP', () => {
  it('is taken, kept alive, given back and taken again, with the head at each step', async () => {
    const id = await create('calm');
    const read = await b.get(at('calm', 'hook?agent=mayor&session=s-1,s-2'));
    expect(read.body).toMatchObject({ action: 'work', agent: 'mayor', reason: 'claimable', items: [{ tier: 'routed', bead: { id } }] });
    const claim = await b.post(at('calm', `bead/${id}/claim`), { assignee: 'mayor', lease: '1m', session_id: 's-1' });
    expect(claim.body).toMatchObject({ claimed: true, fence: 1, lease: '1m' });
    // Something else may have happened in the city meanwhile.
    const told = (await events('calm', head(read))).filter(({ subject }) => subject === id);
    expect(told.map(({ seq }) => seq)).toEqual([head(claim)]);
    const again = await a.post(at('calm', 'hook/claim'), { agent: 'mayor', session: 's-1', aliases: ['x'], lease: '2h', work_branch: 'b' });
    expect(again.body).toMatchObject({
      bead_id: id,
      reason: 'existing_assignment',
      fence: 1,
      lease: '2h',
      schema_version: '1',
      command: 'hook',
    });
    const release = await a.post(at('calm', `bead/${id}/release`), { assignee: 'mayor', fence: 1, reason: 'done for today' });
    expect(release.body).toEqual({ status: 'released' });
    expectRefusal(await b.post(at('calm', `bead/${id}/heartbeat`), { assignee: 'mayor', fence: 1 }), at('calm', `bead/${id}/heartbeat`), {
      status: 409,
      detail: `conflict: bead ${id} is no longer claimed (status: open)`,
      fields: ['body.assignee'],
    });
    expect((await b.post(at('calm', 'hook/claim'), { agent: 'mayor' })).body).toMatchObject({ bead_id: id, fence: 3, reason: 'claimed' });
    await a.post(at('calm', `bead/${id}/close`));
    expect((await b.post(at('calm', 'hook/claim'), { agent: 'mayor' })).body).toEqual({
      schema_version: '1',
      ok: true,
      command: 'hook',
      action: 'drain',
      reason: 'no_work',
    });
  });

  it('is taken back by exactly one of two workers when its lease ends', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => create('rough')));
    const claims = await Promise.all(ids.map((id) => a.post(at('rough', `bead/${id}/claim`), { assignee: `w-${id}`, lease: '1m' })));
    const start = Math.max(...claims.map(head));
    // As if a minute had passed.
    await adminAt(stack.databaseUrl, `update beads set lease_until = lease_until - interval '1 minute' where id = any($1)`, [ids]);
    const reopened = await eventually(async () => {
      const found = (await events('rough', start)).filter((e) => e.type === 'bead.dead_assignee_reopened');
      return found.length >= 20 && found;
    });
    expect(reopened.map((e) => e.subject).sort()).toEqual([...ids].sort());
    for (const e of reopened)
      expect(e).toMatchObject({
        actor: 'reconciler',
        payload: { bead_id: e.subject, dead_assignee: `w-${e.subject}`, routed_to: 'mayor' },
      });
    expect((await b.get(at('rough', 'hook/demand'))).body).toEqual({ items: [{ route: 'mayor', ready: 20 }], total: 20 });
    expect((await events('rough', start)).filter((e) => e.type === 'bead.dead_assignee_reopened')).toHaveLength(20);
  });

  it.each<[string, object, string[]]>([
    ['bead/x/claim', {}, ['body.assignee']],
    ['bead/x/claim', { assignee: ' ' }, ['body.assignee']],
    ['bead/x/claim', { assignee: 'nul \0' }, ['body.assignee']],
    ['bead/x/claim', { assignee: 'a', session_id: '\ud800', lease: '1s' }, ['body.session_id']],
    ['bead/x/claim', { assignee: 'a', lease: '999ms' }, ['body.lease']],
    ['bead/x/claim', { assignee: 'a', lease: '24h1s' }, ['body.lease']],
    ['bead/x/claim', { assignee: 'a', lease: 'soon' }, ['body.lease']],
    ['bead/x/claim', { assignee: 'a', more: 1 }, ['body.more']],
    ['bead/%00/claim', { assignee: 'a' }, ['path']],
    [`bead/${'x'.repeat(256)}/claim`, { assignee: 'a' }, ['path.id']],
    ['bead/x/release', { assignee: 'a', fence: -1 }, ['body.fence']],
    ['bead/x/release', { assignee: 'a', reason: 'x'.repeat(1_001) }, ['body.reason']],
    ['bead/x/heartbeat', { assignee: 'a' }, ['body.fence']],
    ['bead/x/heartbeat', { assignee: 'a', fence: 1.5 }, ['body.fence']],
    ['hook/claim', { aliases: ['x'] }, ['body.agent']],
    ['hook/claim', { agent: 'mayor', aliases: Array.from({ length: 101 }, (_, i) => `n${i}`) }, ['body.aliases']],
    ['hook/claim', { agent: 'mayor', work_branch: 'b\0' }, ['body.work_branch']],
  ])('is refused when it is malformed (%#)', async (path, body, fields) => {
    const target = at('calm', path);
    expectRefusal(await a.post(target, body), target, { status: 422, detail: 'validation_failed: validation failed', fields });
  });

  it('is refused where there is nothing to claim', async () => {
    const lost = { status: 404, detail: 'not_found: bead al-none not found' };
    for (const [action, body] of [
      ['claim', { assignee: 'a' }],
      ['release', { assignee: 'a' }],
      ['heartbeat', { assignee: 'a', fence: 1 }],
    ] as const) {
      const target = at('calm', `bead/al-none/${action}`);
      expectRefusal(await a.post(target, body), target, lost);
      const elsewhere = at('nowhere', `bead/al-none/${action}`);
      expectRefusal(await a.post(elsewhere, body), elsewhere, { status: 404, detail: 'not_found: city not found or not running: nowhere' });
    }
    const target = at('calm', 'hook/claim');
    expectRefusal(await a.post(target, { agent: 'nobody' }), target, { status: 404, detail: 'not_found: agent nobody not found' });
  });

  it.each<[string, number, RegExp]>([
    ['hook', 422, /^validation_failed: /],
    ['hook?agent=', 422, /^validation_failed: /],
    ['hook?agent=mayor&limit=0', 422, /^validation_failed: /],
    ['hook?agent=mayor&limit=1001', 422, /^validation_failed: /],
    ['hook?agent=mayor&session=%00', 422, /^validation_failed: /],
    ['hook?agent=mayor&tier=1', 422, /^validation_failed: /],
    ['hook?agent=nobody', 404, /^not_found: agent nobody not found$/],
    ['hook/demand?route=x', 422, /^validation_failed: /],
  ])('read of %s is refused', async (path, status, detail) => {
    expectRefusal(await a.get(at('calm', path)), at('calm', path), { status, detail });
  });
});
