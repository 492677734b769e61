import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { expectRefusal, type Refusal } from '../support/refusal.js';

let stack: Stack;
let a: Api;
let b: Api;

/** A running city with two rigs and their agents, without a worker: these tests are about its work. */
async function aCity(name: string): Promise<void> {
  await adminAt(
    stack.databaseUrl,
    `with s as (insert into event_streams (name) values ($1) returning id),
       c as (insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s),
       r as (insert into rigs (stream_id, name, prefix, position) select s.id, r.name, r.prefix, r.position
         from s, (values ('', 'c', 0), ('web', 'w', 1), ('core', 'k', 2)) r (name, prefix, position))
     insert into agents (stream_id, name, base, rig, kind) select s.id, a.name, a.base, a.rig, 'agent'
     from s, (values ('mayor', 'mayor', ''), ('web/polecat', 'polecat', 'web'), ('core/polecat', 'polecat', 'core')) a (name, base, rig)`,
    [name],
  );
}
async function bead(city: string, more: object = {}): Promise<string> {
  const reply = await a.post(`/v0/city/${city}/beads`, { title: 'work', ...more });
  expect(reply.status).toBe(201);
  return reply.body.id;
}
const told = async (city: string, above = 0): Promise<string[]> =>
  (await b.get(`/v0/city/${city}/events?after_seq=${above}&limit=1000`)).body.items.map(
    (e: { type: string; subject: string }) => `${e.type} ${e.subject}`,
  );
const indexOf = (reply: Reply): number => Number(reply.headers.get('x-svc-index'));

const unfit = (...fields: string[]): Refusal => ({
  status: 422,
  detail: 'validation_failed: validation failed',
  ...(fields.length === 0 ? {} : { fields }),
});
const invalid = (detail: string, field: string): Refusal => ({ status: 400, detail, fields: [field] });
type Row = [what: string, body: unknown, refusal: Refusal];

beforeAll(async () => {
  stack = await startStack({ workers: 0 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  for (const name of ['life', 'wrong', 'batch', 'races']) await aCity(name);
});
afterAll(() => stack?.stop());

describe('a sling', () => {
  const at = '/v0/city/life';

  it('is rehearsed, done, seen by readers, repeated without effect, and followed to its end', async () => {
    const id = await bead('life', { rig: 'web' });
    const body = { target: 'polecat', rig: 'web', bead: id, merge: 'mr' };
    const rehearsed = await a.post(`${at}/sling`, { ...body, dry_run: true });
    expect(rehearsed.status).toBe(200);
    expect(indexOf(rehearsed)).toBe(1);
    const slung = await b.post(`${at}/sling`, body);
    expect(slung.status).toBe(200);
    expect(slung.headers.get('location')).toBe(`${at}/bead/${id}`);
    const { convoy_id: convoy } = slung.body;
    expect(slung.body).toEqual({
      status: 'slung',
      target: 'web/polecat',
      bead: id,
      mode: 'direct',
      convoy_id: convoy,
      changed: true,
      warnings: [],
    });
    const events = [`bead.created ${convoy}`, `convoy.created ${convoy}`, `bead.updated ${id}`];
    expect(await told('life', 1)).toEqual(events);
    expect(rehearsed.body).toEqual({
      ...slung.body,
      status: 'would_sling',
      events: events.map((text) => ({ type: text.split(' ')[0], subject: text.split(' ')[1] })),
    });
    expect(indexOf(slung)).toBe(4);
    const read = await a.get(slung.headers.get('location')!);
    expect(read.body).toMatchObject({ status: 'open', metadata: { 'gc.routed_to': 'web/polecat', merge_strategy: 'mr' } });
    expect((await a.get(`${at}/convoy/${convoy}/check`)).body).toMatchObject({ total: 1, closed: 0, complete: false });
    const again = await a.post(`${at}/sling`, body);
    expect([again.status, again.body.changed, indexOf(again)]).toEqual([200, false, 4]);
    await a.post(`${at}/bead/${id}/close`);
    expect(await told('life', 4)).toEqual([`bead.closed ${id}`, `bead.closed ${convoy}`, `convoy.closed ${convoy}`]);
    expectRefusal(await b.post(`${at}/sling`, body), `${at}/sling`, {
      status: 409,
      detail: `conflict: bead ${id} is closed; reopen it first`,
      fields: ['bead.metadata.gc.routed_to', 'bead.state', 'bead.status'],
    });
  });

  it('has one answer a key, at either replica', async () => {
    const body = { target: 'mayor', bead: await bead('life') };
    const key = { 'Idempotency-Key': 'one' };
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).post(`${at}/sling`, body, key)));
    const answers = replies.filter((reply) => reply.status === 200);
    expect(new Set(answers.map((reply) => reply.text)).size).toBe(1);
    for (const reply of replies) if (reply.status !== 200) expect(reply.body).toMatchObject({ status: 409, code: 'idempotency-in-flight' });
    expectRefusal(await b.post(`${at}/sling`, { ...body, force: true }, key), `${at}/sling`, {
      status: 422,
      detail: /^idempotency_mismatch: /,
    });
  });
});

describe('what is wrong with a sling', () => {
  const at = '/v0/city/wrong/sling';

  it.each<Row>([
    ['no target', { bead: 'c-1' }, unfit('body.target')],
    ['an empty target', { target: '', bead: 'c-1' }, unfit('body.target')],
    ['a formula that is no text', { target: 'mayor', formula: 1 }, unfit('body.formula')],
    ['vars that are no texts', { target: 'mayor', bead: 'c-1', vars: { a: 1 } }, unfit('body.vars.a')],
    ['force as text', { target: 'mayor', bead: 'c-1', force: 'yes' }, unfit('body.force')],
    ['a target with NUL', { target: 'a\0', bead: 'c-1' }, unfit('body.target')],
    ['half a character', { target: 'mayor', bead: 'c\ud800' }, unfit('body.bead')],
    ['a very long rig', { target: 'mayor', bead: 'c-1', rig: 'x'.repeat(501) }, unfit('body.rig')],
    ['a list', [], unfit()],
    ['no JSON', '{', { status: 400, detail: 'validation_failed: …' }],
    ['a blank target', { target: ' \t', bead: 'c-1' }, invalid('invalid: target agent or pool is required', 'body.target')],
    [
      'an ambiguous target',
      { target: 'polecat', bead: 'c-1' },
      { status: 404, detail: 'not_found: target polecat not found: it could be …' },
    ],
    ['an unknown target', { target: 'nobody', bead: 'c-1' }, { status: 404, detail: 'not_found: target nobody not found' }],
    ['an unknown rig', { target: 'mayor', bead: 'c-1', rig: 'x' }, { status: 404, detail: 'not_found: rig x not found' }],
    ['no bead', { target: 'mayor' }, invalid('invalid: bead or formula is required', 'body.bead')],
    ['an unknown bead', { target: 'mayor', bead: 'c-99' }, { status: 400, detail: 'sling_missing_bead: bead c-99 not found' }],
  ])('%s', async (_what, body, refusal) => {
    expectRefusal(await a.post(at, body), at, refusal);
    expect(await told('wrong')).toEqual([]);
  });

  it.each([
    ['sling', { bead: 'c-1' }],
    ['sling/batch', { beads: ['c-1'] }],
  ])('a city that does not run: %s', async (operation, body) => {
    const path = `/v0/city/nowhere/${operation}`;
    const detail = 'not_found: city not found or not running: nowhere';
    expectRefusal(await a.post(path, { target: 'mayor', ...body }), path, { status: 404, detail });
  });
});

describe('a batch of slings', () => {
  const at = '/v0/city/batch/sling/batch';

  it('answers for every bead; of a convoy it takes what is open', async () => {
    const [one, two, three] = [await bead('batch'), await bead('batch', { rig: 'core' }), await bead('batch')];
    const mixed = await a.post(at, { target: 'web/polecat', beads: [one, two] });
    expect(mixed.body).toMatchObject({
      status: 'partial',
      target: 'web/polecat',
      results: [
        { bead: one, status: 'slung' },
        { bead: two, status: 'refused', code: 'sling-cross-rig' },
      ],
      slung: 1,
      refused: 1,
      skipped: 0,
    });
    expect(indexOf(mixed)).toBe((await told('batch')).length);
    const convoy = (await a.post('/v0/city/batch/convoys', { title: 'all', items: [one, two, three] })).body.id as string;
    await a.post(`/v0/city/batch/bead/${three}/close`);
    const body = { target: 'mayor', convoy, atomic: true };
    expectRefusal(await b.post(at, body), at, { status: 409, detail: /^conflict: 1 of 2 beads cannot be slung/, fields: ['body.convoy'] });
    const rehearsed = await b.post(at, { ...body, force: true, dry_run: true });
    const slung = await b.post(at, { ...body, force: true }, { 'Idempotency-Key': 'all' });
    expect(slung.body).toMatchObject({ status: 'slung', slung: 2, skipped: 1, results: [{}, {}, { bead: three, status: 'skipped' }] });
    expect(JSON.parse(rehearsed.text.replaceAll('would_sling', 'slung'))).toMatchObject(slung.body);
    expect((await a.post(at, { ...body, force: true }, { 'Idempotency-Key': 'all' })).text).toBe(slung.text);
    expect((await a.get(`/v0/city/batch/bead/${two}`)).body.metadata).toEqual({ 'gc.routed_to': 'mayor' });
  });

  it.each<Row>([
    ['nothing', {}, invalid('invalid: exactly one of beads and convoy is required', 'body')],
    ['both', { beads: ['c-1'], convoy: 'c-2' }, invalid('invalid: exactly one of beads and convoy is required', 'body')],
    ['an empty list', { beads: [] }, unfit('body.beads')],
    ['an empty bead', { beads: [''] }, unfit('body.beads.0')],
    ['too many', { beads: Array(5001).fill('c-1') }, unfit('body.beads')],
    ['an unknown convoy', { convoy: 'c-99' }, { status: 404, detail: 'not_found: convoy c-99 not found' }],
  ])('is refused with %s', async (_what, more, refusal) => {
    expectRefusal(await a.post(at, { target: 'mayor', ...(more as object) }), at, refusal);
  });
});

describe('slings at two replicas at once', () => {
  const at = '/v0/city/races/sling';

  // Guard: the work lock (src/modules/orchestration/sling/sling-races.db-spec.ts shows what happens without it).
  it('give each bead to one of two targets; the other is told to whom', async () => {
    const beads = await Promise.all(Array.from({ length: 15 }, () => bead('races')));
    for (const id of beads) {
      const replies = await Promise.all([a.post(at, { target: 'mayor', bead: id }), b.post(at, { target: 'web/polecat', bead: id })]);
      expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409]);
      const won = replies.find((reply) => reply.status === 200)!.body.target as string;
      const lost = replies.find((reply) => reply.status === 409)!;
      expectRefusal(lost, at, { status: 409, detail: `conflict: bead ${id} is routed to ${won}; pass force to override` });
      expect(lost.body.errors).toContainEqual({ location: 'bead.metadata.gc.routed_to', message: `is routed to ${won}`, value: won });
      expect((await a.get(`/v0/city/races/bead/${id}`)).body.metadata).toEqual({ 'gc.routed_to': won });
    }
  });

  it('of one bead to one target are one', async () => {
    const id = await bead('races');
    const head = (await told('races')).length;
    const body = { target: 'mayor', bead: id };
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).post(at, body)));
    expect(replies.filter((reply) => reply.body.changed === true)).toHaveLength(1);
    const [convoy, ...others] = new Set(replies.map((reply) => reply.body.convoy_id as string));
    expect(others).toEqual([]);
    expect(await told('races', head)).toEqual([`bead.created ${convoy}`, `convoy.created ${convoy}`, `bead.updated ${id}`]);
  });

  it('of batches that overlap give every bead once', async () => {
    const beads = await Promise.all(Array.from({ length: 12 }, () => bead('races')));
    const batches = [a, b].map((by, i) =>
      by.post(`${at}/batch`, { target: ['mayor', 'web/polecat'][i], beads: i === 0 ? beads : [...beads].reverse(), no_convoy: true }),
    );
    const replies = await Promise.all(batches);
    expect(replies.map((reply) => reply.status)).toEqual([200, 200]);
    expect(replies[0]!.body.slung + replies[1]!.body.slung).toBe(12);
    for (const { body } of replies)
      for (const result of body.results) {
        const { metadata } = (await a.get(`/v0/city/races/bead/${result.bead}`)).body;
        expect(metadata['gc.routed_to'] === body.target).toBe(result.status === 'slung');
      }
  });
});
