import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { StreamLimits } from '../../../platform/http/rate-limits.js';
import type { EventStreams } from '../../../platform/streams/event-streams.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import type { StreamHub } from '../../../platform/streams/hub.js';
import type { KeyWatch } from '../../../platform/streams/key-watch.js';
import type { BeadRecord, NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { ConvoyReadsService } from './convoy-reads.service.js';
import { ConvoysRepository } from './convoys.repository.js';
import { ConvoysQuery, type ConvoyCreateInputBody } from './convoys.schemas.js';
import { ConvoysService } from './convoys.service.js';

let fixture: WorkFixture;
let convoys: ConvoysService;
beforeEach(async () => {
  fixture = await workFixture();
  convoys = new ConvoysService(new ConvoysRepository(fixture.db), fixture.work, new Idempotency(new IdempotencyRepository()));
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const bead = (more: Partial<NewBead> = {}): Promise<string> => run((w) => w.create({ rig: '', title: 'x', ...more })).then((b) => b.id);
const find = (id: string): Promise<BeadRecord> => run((w) => w.require(id));
const create = async (items: readonly string[], more: Partial<ConvoyCreateInputBody> = {}): Promise<string> =>
  (await convoys.create(fixture.city, { title: 'batch', items: [...items], ...more }, undefined, ANYBODY)).value.id;
/** The events that `body` brings about. */
const told = async (body: () => Promise<unknown>): Promise<string[]> => {
  const at = (await fixture.events()).length;
  await body();
  return (await fixture.events(at)).map((e) => `${e.type} ${e.subject}`);
};
const add = (id: string, ...items: string[]) => convoys.add(fixture.city, id, { items }, ANYBODY).then((done) => done.value);
const remove = (id: string, ...items: string[]) => convoys.remove(fixture.city, id, { items }, ANYBODY).then((done) => done.value);

describe('a new convoy', () => {
  it('is one bead with all its settings and members of any rig, told of twice', async () => {
    const [a, b] = [await bead(), await bead({ rig: 'web' })];
    const at = (await fixture.events()).length;
    const { value, index } = await convoys.create(
      fixture.city,
      {
        title: 'batch',
        rig: 'core',
        items: [b, a, b],
        description: 'all of it',
        labels: ['l', 'owned'],
        owner: 'mayor',
        notify: 'human',
        owned: true,
        merge: 'mr',
        target: 'main',
      },
      undefined,
      { ...ANYBODY, actor: 'ci' },
    );
    expect(value).toMatchObject({
      id: 'co-1',
      issue_type: 'convoy',
      rig: 'core',
      labels: ['l', 'owned'],
      metadata: { 'convoy.owner': 'mayor', 'convoy.notify': 'human', 'convoy.merge': 'mr', target: 'main' },
      dependencies: [a, b].map((id) => ({ issue_id: 'co-1', depends_on_id: id, type: 'tracks' })),
    });
    const events = await fixture.events(at);
    expect(events).toMatchObject([
      { seq: at + 1, type: 'bead.created', subject: 'co-1', actor: 'ci' },
      { seq: at + 2, type: 'convoy.created', subject: 'co-1', actor: 'ci', message: 'batch', payload: {} },
    ]);
    const { closed_items: none, ...snapshot } = value;
    expect([none, events[0]!.payload.bead, index]).toEqual([undefined, snapshot, at + 2]);
  });

  it('does not exist when one item or its rig does not', async () => {
    const a = await bead();
    const refused = told(async () => {
      await expect(create([a, 'al-99'])).rejects.toMatchObject({ detail: 'not_found: item al-99 not found', problem: 'bead_not_found' });
      await expect(create([a], { rig: 'nowhere' })).rejects.toMatchObject({ problem: 'rig_not_found' });
    });
    expect(await refused).toEqual([]);
    expect(await create([a])).toBe('al-2');
  });

  it('stays open when all its items are closed already, and names them', async () => {
    const [a, b] = [await bead(), await bead()];
    await run((w) => w.close(a));
    const made = await convoys.create(fixture.city, { title: 'late', items: [a] }, undefined, ANYBODY);
    expect(made.value).toMatchObject({ status: 'open', closed_items: [a] });
    expect(await add(made.value.id, a, b)).toEqual({ status: 'updated', closed_items: [a] });
    expect(await told(() => run((w) => w.close(b)))).toContain(`convoy.closed ${made.value.id}`);
  });

  it('is made once under a key, and the repeat has no event', async () => {
    const a = await bead();
    const once = () => convoys.create(fixture.city, { title: 'batch', items: [a] }, 'k', ANYBODY);
    const first = await once();
    expect(await told(async () => expect(await once()).toEqual(first))).toEqual([]);
    await expect(convoys.create(fixture.city, { title: 'other' }, 'k', ANYBODY)).rejects.toMatchObject({ problem: 'idempotency_mismatch' });
  });

  it('is not closed by anything while it is empty', async () => {
    const a = await bead();
    const c = await create([a]);
    expect(await told(() => remove(c, a))).toEqual([`bead.updated ${c}`]);
    expect(await told(() => run((w) => w.close(a)))).toEqual([`bead.closed ${a}`]);
    expect(await find(c)).toMatchObject({ status: 'open' });
  });
});

describe('members', () => {
  it('are added and removed all or none, told of only when something changes', async () => {
    const [a, b, d] = [await bead(), await bead(), await bead()];
    const c = await create([a]);
    expect(await told(() => add(c, a, b, b))).toEqual([`bead.updated ${c}`]);
    expect(await told(() => add(c, a, b))).toEqual([]);
    expect(await told(() => add(c))).toEqual([]);
    const refused = told(async () => {
      await expect(add(c, d, 'al-99')).rejects.toMatchObject({ problem: 'bead_not_found' });
      await expect(remove(c, a, 'al-99')).rejects.toMatchObject({ detail: 'not_found: item al-99 not found' });
      await expect(remove(c, a, d)).rejects.toMatchObject({ detail: `invalid: item ${d} does not belong to convoy ${c}` });
      await expect(add('al-99', a)).rejects.toMatchObject({ problem: 'convoy_not_found' });
      await expect(add(a, b)).rejects.toMatchObject({ detail: `invalid: bead ${a} is not a convoy` });
    });
    expect(await refused).toEqual([]);
    expect(await told(() => remove(c, a, b))).toEqual([`bead.updated ${c}`]);
    expect((await find(c)).snapshot.dependencies).toBeUndefined();
  });

  it('that are children leave without their parent', async () => {
    const c = await create([]);
    const child = await bead({ parent: c });
    expect(await told(() => remove(c, child))).toEqual([`bead.updated ${child}`]);
    expect(await find(child)).toMatchObject({ parent: null });
  });

  it('are not added to a closed convoy, but may leave it', async () => {
    const [a, b] = [await bead(), await bead()];
    const c = await create([a]);
    await convoys.close(fixture.city, c, 'enough', ANYBODY);
    await expect(add(c, b)).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await told(() => remove(c, a))).toEqual([`bead.updated ${c}`]);
  });

  it('complete a convoy when the last open one leaves, not when a closed one does', async () => {
    const [a, b, d] = [await bead(), await bead(), await bead()];
    const c = await create([a, b, d]);
    await run((w) => w.close(a));
    await run((w) => w.close(b));
    expect(await told(() => remove(c, b))).toEqual([`bead.updated ${c}`]);
    expect(await told(() => remove(c, d))).toEqual([`bead.closed ${c}`, `convoy.closed ${c}`]);
    expect((await fixture.events()).at(-1)!.payload).toMatchObject({ total: 1, closed: 1 });
    const late = await create([a, b]);
    expect(await told(() => remove(late, a))).toEqual([`bead.updated ${late}`]);
  });

  it('never hold the convoy that they are in', async () => {
    const a = await bead();
    const inner = await create([a]);
    const middle = await create([inner]);
    const outer = await create([]);
    await run((w) => w.update(middle, { parent: outer }));
    const refused = told(async () => {
      await expect(add(inner, a, inner)).rejects.toMatchObject({ problem: 'dependency_cycle' });
      await expect(add(inner, outer)).rejects.toMatchObject({
        problem: 'dependency_cycle',
        detail: `conflict: a convoy cannot be in itself: ${inner} → ${outer} → ${middle} → ${inner}`,
      });
    });
    expect(await refused).toEqual([]);
    await add(outer, inner);
  });

  // Guard: a walk costs what there are memberships, and not what there are ways to a convoy times ways beyond it.
  it('are held by convoys that are found by looking at each membership twice', async () => {
    const [layers, wide] = [4, 30];
    await run(async (w) => {
      const made = [];
      for (let i = 0; i < layers * wide; i++) made.push((await w.create({ rig: '', title: 'x', type: 'convoy' })).id);
      for (let i = 0; i < (layers - 1) * wide; i++) {
        const below = (Math.floor(i / wide) + 1) * wide;
        await w.putEdges(made[i]!, made.slice(below, below + wide), 'tracks');
      }
    });
    const edges = (layers - 1) * wide * wide;
    const lowest = `al-${layers * wide}`;
    const held = (db: Kysely<Database>) => new ConvoysRepository(fixture.db).holdings(db as Tx, fixture.city.streamId, lowest);
    expect(await held(fixture.db)).toHaveLength(wide + 2 * wide * wide);
    expect(rowsRead(await plansOf(fixture.pool, held, 'only'), 'bead_dependencies')).toBeLessThanOrEqual(2 * edges);
  });
});

describe('closing by hand', () => {
  it('tells once, with the reason, whatever the members are', async () => {
    const c = await create([await bead()]);
    expect(await told(() => convoys.close(fixture.city, c, 'given up', ANYBODY))).toEqual([`bead.closed ${c}`, `convoy.closed ${c}`]);
    expect((await fixture.events()).at(-1)).toMatchObject({ actor: 'api', payload: { total: 1, closed: 0, reason: 'given up' } });
    expect(await told(() => convoys.close(fixture.city, c, 'again', ANYBODY))).toEqual([]);
    expect(await find(c)).toMatchObject({ metadata: { close_reason: 'given up' } });
  });

  // Guard: a convoy has any number of children, for which all writers of the city would wait.
  it('of an owned convoy says of what is open as much as fits, and how much it is', async () => {
    const beads = [await bead(), await bead(), await bead()];
    const c = await create(beads, { owned: true });
    convoys.openItems = 2;
    await expect(convoys.land(fixture.city, c, {}, ANYBODY)).rejects.toMatchObject({
      detail: `conflict: convoy ${c} has 3 open members; force lands it all the same`,
      errors: [{ value: beads[0] }, { value: beads[1] }],
    });
    const { value } = await convoys.land(fixture.city, c, { force: true }, ANYBODY);
    expect(value).toEqual({ status: 'landed', convoy_id: c, total: 3, closed: 0, open_items: beads.slice(0, 2) });
  });

  it('of an owned convoy is landing it, which a rehearsal does not', async () => {
    const [a, b] = [await bead(), await bead()];
    const c = await create([a, b], { owned: true });
    await run((w) => w.close(a));
    const land = (body: object) => convoys.land(fixture.city, c, body, ANYBODY).then((done) => done.value);
    const early = {
      problem: 'wrong_state',
      detail: `conflict: convoy ${c} has 1 open member; force lands it all the same`,
      errors: [{ location: 'convoy.items', message: 'is not closed', value: b }],
    };
    const answer = { convoy_id: c, total: 2, closed: 1, open_items: [b] };
    const rehearsed = told(async () => {
      await expect(land({})).rejects.toMatchObject(early);
      await expect(land({ dry_run: true })).rejects.toMatchObject(early);
      expect(await land({ force: true, dry_run: true })).toEqual({ status: 'would_land', ...answer });
    });
    expect(await rehearsed).toEqual([]);
    expect(await told(() => land({ force: true }))).toEqual([`bead.closed ${c}`, `convoy.closed ${c}`]);
    expect((await fixture.events()).at(-1)).toMatchObject({
      payload: { total: 2, closed: 1, reason: 'convoy land: completed owned convoy' },
    });
    expect(await told(() => land({}))).toEqual([]);
    expect(await find(b)).toMatchObject({ status: 'open' });
    const plain = await create([a]);
    await expect(convoys.land(fixture.city, plain, { force: true }, ANYBODY)).rejects.toMatchObject({ problem: 'wrong_state' });
  });
});

describe('the convoy of a slung bead', () => {
  it('is one at a time, and another after it has closed', async () => {
    const a = await bead({ rig: 'web' });
    const created = async (w: Work, owned: boolean): Promise<BeadRecord> =>
      (await convoys.createSlingConvoys(w, [await w.require(a)], { owned })).get(a)!;
    const sling = () => run(async (w) => (await convoys.liveSlingConvoys(w, [a])).get(a) ?? created(w, false));
    const first = await sling();
    expect(first).toMatchObject({ rig: 'web', title: `sling-${a}`, labels: [], sling_source: a });
    expect((await sling()).id).toBe(first.id);
    await run((w) => w.close(a));
    expect(await find(first.id)).toMatchObject({ status: 'closed' });
    await run((w) => w.reopen(a));
    const second = await run((w) => created(w, true));
    expect(second).toMatchObject({ labels: ['owned'] });
    expect((await sling()).id).toBe(second.id);
    await expect(run((w) => w.reopen(first.id))).rejects.toMatchObject({ detail: `conflict: another open convoy follows ${a} meanwhile` });
  });
});

it('that loses all its children at once is empty, not completed', async () => {
  const c = await create([]);
  const [open, done] = [await bead({ parent: c }), await bead({ parent: c })];
  await run((w) => w.close(done));
  expect(await told(() => remove(c, open, done))).toEqual([`bead.updated ${done}`, `bead.updated ${open}`]);
  expect((await find(c)).status).toBe('open');
});

it('answers no more than fits, and says so', async () => {
  const reads = new ConvoyReadsService(
    new ConvoysRepository(fixture.db),
    new HeadWaiter(
      { stream: () => undefined } as unknown as StreamHub,
      { add: () => () => undefined } as unknown as KeyWatch,
      new StreamLimits({ key: 1, city: 1 }),
      {} as EventStreams,
      new Lifecycle(new AppLogger(createLogger('silent'))),
    ),
  );
  const { streamId } = fixture.city;
  await sql`insert into beads (stream_id, id, title, issue_type, description) select ${streamId}, 'c-' || n, 'x', 'convoy', repeat('d', 262144) from generate_series(1, 50) n`.execute(
    fixture.db,
  );
  const seen: string[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const { value } = await reads.list(fixture.city, ConvoysQuery.parse({ cursor, limit: '1000' }), new AbortController().signal);
    expect(Buffer.byteLength(value)).toBeLessThan(PAGE_BYTES + 1024 * 1024);
    const page = JSON.parse(value) as { items: { id: string }[]; next_cursor?: string };
    seen.push(...page.items.map((item) => item.id));
    cursor = page.next_cursor;
  }
  expect(seen).toEqual(Array.from({ length: 50 }, (_, n) => `c-${50 - n}`));
  await sql`insert into beads (stream_id, id, title, parent, description) select ${streamId}, 'm-' || n, 'x', 'c-1', repeat('d', 262144) from generate_series(1, 260) n`.execute(
    fixture.db,
  );
  await expect(reads.get(fixture.city, 'c-1')).rejects.toMatchObject({ problem: 'invalid_request' });
  expect((await reads.check(fixture.city, 'c-1')).value).toMatchObject({ total: 260, closed: 0 });
});

it('follows a slung bead also when its rig has gone', async () => {
  const [here, gone] = [await bead({ rig: 'core' }), await bead({ rig: 'web' })];
  await sql`update rigs set present = false where name = 'web'`.execute(fixture.db);
  const made = await run(async (w) => {
    const of = await convoys.createSlingConvoys(w, await w.findAll([here, gone]), { owned: false });
    return [of.get(here)!, of.get(gone)!];
  });
  expect(made.map((convoy) => convoy.rig)).toEqual(['core', '']);
});
