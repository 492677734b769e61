import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { SlingBatchesRepository } from './sling-batches.repository.js';
import { hands, slings, type Slings } from './testing/slings.js';

const FORMULA = `formula = "two"\n[vars.issue]\nrequired = true\n[[steps]]\nid = "a"\ntitle = "A of {{issue}}"\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\n`;
const AT_ONCE = { step: 3, most: 2 };
const target = 'mayor';

let fixture: WorkFixture;
let service: Slings;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  service = slings(fixture, undefined, undefined, AT_ONCE);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const many = (count: number): Promise<string[]> =>
  h.run(async (work) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await work.create({ rig: '', title: 'x' })).id);
    return ids;
  });
const accepted = async (body: object, by = service): Promise<string> => (await by.batch({ target, ...body })).value.request_id!;
const page = { limit: 1000, cursor: undefined, status: undefined };
const batchOf = (id: string) => service.batches.get(fixture.city, id, page);
const convoys = async (): Promise<{ n: number; of: number }> => {
  const { rows } = await sql<{ n: number; of: number }>`
    select count(*) as n, count(distinct sling_source) as of from beads where sling_source is not null`.execute(fixture.db);
  return rows[0]!;
};

describe('a batch that is left to workers', () => {
  it('is slung once also while two of them think that it is theirs', async () => {
    const beads = await many(20);
    const id = await accepted({ beads });
    const other = slings(fixture, fixture.another(), undefined, AT_ONCE);
    const outcomes = await Promise.allSettled([service.carryOut(id), other.carryOut(id)]);
    const payload = { status: 'slung', total: 20, slung: 20, refused: 0, skipped: 0 };
    // The one that comes last may find that the other has ended it.
    const ended = outcomes.filter((one) => one.status === 'fulfilled');
    expect(ended.length).toBeGreaterThan(0);
    for (const { value } of ended) expect(value).toMatchObject({ ok: true, payload });
    for (const one of outcomes) if (one.status === 'rejected') expect(one.reason).toMatchObject({ message: 'a batch of slings has ended' });
    const { results, ...rest } = await batchOf(id);
    expect(rest).toMatchObject({ status: 'slung', done: 20, slung: 20, refused: 0 });
    expect(results.map(({ bead, changed }) => [bead, changed])).toEqual(beads.map((bead) => [bead, true]));
    expect(await convoys()).toEqual({ n: 20, of: 20 });
    const updated = (await fixture.events()).filter(({ type }) => type === 'bead.updated').map(({ subject }) => subject);
    expect(updated).toEqual(beads);
  });

  it('goes on behind its last step when a process dies in one', async () => {
    const beads = await many(8);
    const id = await accepted({ beads });
    let commits = 0;
    fixture.failpoints.arm('tx.before_commit', () => {
      if (++commits === 2) throw new Error('died');
    });
    await expect(service.carryOut(id)).rejects.toThrow('died');
    fixture.failpoints.disarm();
    expect(await batchOf(id)).toMatchObject({ status: 'running', done: 3, results: { length: 3 } });
    expect(await convoys()).toEqual({ n: 3, of: 3 });
    expect(await service.carryOut(id)).toMatchObject({ ok: true });
    expect((await batchOf(id)).results).toEqual(beads.map((bead) => expect.objectContaining({ bead, changed: true })));
    expect(await convoys()).toEqual({ n: 8, of: 8 });
  });

  it('of a convoy leaves out its closed members, and makes no convoys', async () => {
    const [convoy, members] = [await h.create({ type: 'convoy' }), await many(4)];
    for (const member of members) await h.edge(convoy, member, 'tracks');
    await h.close(members[1]!);
    const id = await accepted({ convoy });
    expect(await service.carryOut(id)).toMatchObject({ payload: { slung: 3, skipped: 1 } });
    expect((await batchOf(id)).results).toMatchObject([
      ...[members[0], members[2], members[3]].map((bead) => ({ bead, status: 'slung', convoy_id: convoy })),
      { bead: members[1], status: 'skipped' },
    ]);
    expect(await convoys()).toEqual({ n: 0, of: 0 });
  });

  it('launches its formula for each bead, and a bead that has another run is refused', async () => {
    service = slings(fixture, undefined, { texts: { two: FORMULA } }, AT_ONCE);
    const beads = await many(5);
    const id = await accepted({ beads, formula: 'two', vars: {} });
    await h.close(beads[4]!);
    expect(await service.carryOut(id)).toMatchObject({ payload: { status: 'partial', slung: 4, refused: 1 } });
    const { results } = await batchOf(id);
    expect(results.map(({ status }) => status)).toEqual(['slung', 'slung', 'slung', 'slung', 'refused']);
    expect(new Set(results.slice(0, 4).map(({ workflow_id }) => workflow_id)).size).toBe(4);
  });

  it('ends with what no further try changes, and what was slung stays', async () => {
    const beads = await many(8);
    const id = await accepted({ beads });
    let steps = 0;
    fixture.failpoints.arm('fan_out.after_step', async () => {
      if (++steps === 2) await sql`update agents set present = false where name = ${target}`.execute(fixture.db);
    });
    expect(await service.carryOut(id)).toMatchObject({
      ok: false,
      code: 'agent_not_found',
      message: 'not_found: target mayor not found; done so far: 6 of 8',
    });
    expect(await batchOf(id)).toMatchObject({ status: 'failed', error_code: 'agent_not_found', done: 6, slung: 6, results: { length: 6 } });
  });

  it('stops where it is canceled in the middle', async () => {
    const id = await accepted({ beads: await many(8) });
    fixture.failpoints.arm('fan_out.after_step', async () => {
      await service.batches.cancel(fixture.city, id, { actor: 'tester' } as never);
    });
    expect(await service.carryOut(id)).toMatchObject({
      ok: false,
      code: 'canceled',
      message: 'the batch was canceled; done so far: 3 of 8',
    });
    expect(await batchOf(id)).toMatchObject({ status: 'canceled', done: 3 });
    expect(await convoys()).toEqual({ n: 3, of: 3 });
  });

  it('is forgotten with its results after its time', async () => {
    const [old, young] = [await accepted({ beads: await many(4) }), await accepted({ beads: await many(4) })];
    for (const id of [old, young]) await service.carryOut(id);
    await sql`update sling_batches set finished_at = now() - interval '2 hours' where request_id = ${old}`.execute(fixture.db);
    const repository = new SlingBatchesRepository(fixture.db);
    expect(await fixture.transactions.run((tx) => repository.purge(tx, 3_600_000, 10))).toBe(1);
    await expect(batchOf(old)).rejects.toMatchObject({ problem: 'sling_batch_not_found' });
    expect((await batchOf(young)).results).toHaveLength(4);
    const { rows } = await sql<{ n: number }>`select count(*) as n from sling_batch_results`.execute(fixture.db);
    expect(rows).toEqual([{ n: 4 }]);
  });
});
