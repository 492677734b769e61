import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { MAX_BATCH, MAX_TOGETHER } from './sling.schemas.js';
import { hands, slings, type Slings } from './testing/slings.js';

let fixture: WorkFixture;
let service: Slings;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  service = slings(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const target = 'mayor';
const convoyOf = async (members: readonly string[], more = {}): Promise<string> => {
  const convoy = await h.create({ type: 'convoy', ...more });
  for (const member of members) await h.edge(convoy, member, 'tracks');
  return convoy;
};

describe('a batch', () => {
  it('slings each bead for itself: a refused one stops no other', async () => {
    const [a, closed, b] = [await h.create(), await h.create({}, { status: 'closed' }), await h.create({ type: 'epic' })];
    const { value, index } = await service.batch({ target, beads: [a, closed, 'al-99', a, b], merge: 'direct' });
    expect(value).toEqual({
      status: 'partial',
      target,
      results: [
        { bead: a, status: 'slung', changed: true, convoy_id: 'al-4', warnings: [] },
        { bead: closed, status: 'refused', code: 'conflict-wrong-state', detail: `conflict: bead ${closed} is closed; reopen it first` },
        { bead: 'al-99', status: 'refused', code: 'sling-missing-bead', detail: 'sling_missing_bead: bead al-99 not found' },
        {
          bead: b,
          status: 'refused',
          code: 'invalid-request',
          detail: `invalid: bead ${b} is an epic; first-class support is for convoys only`,
        },
      ],
      slung: 1,
      refused: 3,
      skipped: 0,
    });
    expect(index).toBe((await fixture.events()).at(-1)!.seq);
    expect((await h.bead(a)).metadata).toEqual({ 'gc.routed_to': target, merge_strategy: 'direct' });
    expect((await service.batch({ target, beads: [closed] })).value).toMatchObject({ status: 'refused', slung: 0, refused: 1 });
    expect((await service.batch({ target, beads: [a] })).value).toMatchObject({ status: 'slung', results: [{ changed: false }] });
  });

  it('of a convoy slings its open members, which need no convoys of their own', async () => {
    const [a, closed, b] = [await h.create(), await h.create(), await h.create({ rig: 'web' })];
    const convoy = await convoyOf([a, closed]);
    await h.change(b, { parent: convoy });
    await h.close(closed);
    let value!: unknown;
    const events = await h.eventsOf(async () => (value = (await service.batch({ target, convoy })).value));
    expect(events).toEqual([`bead.updated ${a}`, `bead.updated ${b}`]);
    expect(value).toEqual({
      status: 'slung',
      target,
      results: [
        { bead: a, status: 'slung', changed: true, convoy_id: convoy, warnings: [] },
        { bead: b, status: 'slung', changed: true, convoy_id: convoy, warnings: [] },
        { bead: closed, status: 'skipped' },
      ],
      slung: 2,
      refused: 0,
      skipped: 1,
    });
  });

  it('that is atomic slings all of them or none', async () => {
    const [a, b, other] = [await h.create(), await h.create({ assignee: 'deacon' }), await h.create()];
    const body = { target, beads: [a, 'al-99', b, other], atomic: true };
    let error!: unknown;
    expect(await h.eventsOf(async () => (error = await service.batch(body).catch((e: unknown) => e)))).toEqual([]);
    expect(error).toMatchObject({
      problem: 'sling_refused',
      detail: 'conflict: 2 of 4 beads cannot be slung; nothing was changed',
      errors: [
        { location: 'body.beads.1', message: 'sling_missing_bead: bead al-99 not found', value: 'al-99' },
        { location: 'body.beads.2', value: b },
      ],
    });
    await expect(service.batch({ ...body, dry_run: true })).rejects.toMatchObject({ detail: (error as Error).message });
    expect((await h.bead(a)).revision).toBe(1);
    const { value } = await service.batch({ target, beads: [a, b, other], atomic: true, reassign: true, no_convoy: true });
    expect(value).toMatchObject({ status: 'slung', slung: 3, results: [{ bead: a }, { bead: b }, { bead: other }] });
    const convoy = await convoyOf([b, other]);
    const inConvoy = service.batch({ target: 'deacon', convoy, atomic: true });
    await expect(inConvoy).rejects.toMatchObject({ errors: [{ location: 'body.convoy', value: b }, { value: other }] });
  });

  it('is refused as a whole for what is wrong with it as a whole, and changes nothing', async () => {
    const [a, closed, epic] = [await h.create(), await h.create({}, { status: 'closed' }), await h.create({ type: 'epic' })];
    const [done, empty, convoy] = [await convoyOf([closed]), await convoyOf([]), await convoyOf([a])];
    const refused: [object, string][] = [
      [{ target: ' ', beads: [a] }, 'invalid: target agent or pool is required'],
      [{ target: 'nobody' }, 'not_found: target nobody not found'],
      [{}, 'invalid: exactly one of beads and convoy is required'],
      [{ beads: [a], convoy }, 'invalid: exactly one of beads and convoy is required'],
      [{ beads: [a], owned: true, no_convoy: true }, 'invalid: owned requires a convoy (cannot use with no_convoy)'],
      [{ beads: [a], merge: 'x' }, "invalid: merge must be 'direct', 'mr', or 'local'"],
      [{ convoy, owned: true }, 'invalid: owned is for convoys of single beads (cannot use with convoy)'],
      [{ convoy: 'al-99' }, 'not_found: convoy al-99 not found'],
      [{ convoy: epic }, `invalid: bead ${epic} is an epic; first-class support is for convoys only`],
      [{ convoy: a }, `invalid: bead ${a} is not a convoy`],
      [{ convoy: done }, `invalid: convoy ${done} has no open members`],
      [{ convoy: empty }, `invalid: convoy ${empty} has no open members`],
    ];
    const head = (await fixture.events()).length;
    for (const atomic of [false, true])
      for (const [body, detail] of refused) await expect(service.batch({ target, atomic, ...body })).rejects.toMatchObject({ detail });
    expect(await fixture.events()).toHaveLength(head);
  });

  it('is bounded, and more so when it is one transaction', async () => {
    const convoy = await h.create({ type: 'convoy' });
    const members = Array.from({ length: MAX_BATCH + 1 }, (_, n) => `al-${n + 100}`);
    await sql`
      insert into beads (stream_id, id, title, parent)
      select ${fixture.city.streamId}, m.id, 'x', ${convoy} from unnest(${members}::text[]) m (id)`.execute(fixture.db);
    await expect(service.batch({ target, convoy })).rejects.toMatchObject({
      detail: `invalid: convoy ${convoy} has more than 5000 members`,
    });
    const many = members.slice(0, MAX_TOGETHER + 1);
    for (const one of [{ atomic: true }, { dry_run: true }])
      await expect(service.batch({ target, beads: many, ...one })).rejects.toMatchObject({
        detail: 'invalid: at most 200 beads can be slung with atomic or dry_run, not 201',
      });
    expect((await service.batch({ target, beads: many, no_convoy: true })).value).toMatchObject({ status: 'slung', slung: 201 });
  });

  it('replays its answer under the same key; while it runs a repeat is refused', async () => {
    const [a, b] = [await h.create(), await h.create()];
    const body = { target, beads: [a, b] };
    const both = await Promise.allSettled([service.batch(body, 'k'), slings(fixture, fixture.another()).batch(body, 'k')]);
    const first = both.find((one) => one.status === 'fulfilled')!.value;
    for (const one of both)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ problem: 'idempotency_in_flight' });
      else expect(one.value.value).toEqual(first.value);
    await h.close(a);
    expect((await service.batch(body, 'k')).value).toEqual(first.value);
    await expect(service.batch({ ...body, force: true }, 'k')).rejects.toMatchObject({ problem: 'idempotency_mismatch' });
  });

  describe('that breaks off', () => {
    /** Its first bead is slung, and the transaction of the second fails. */
    const breakOff = async (body: Parameters<Slings['batch']>[0]): Promise<void> => {
      service = slings(fixture, fixture.work, undefined, { step: 1 });
      let commits = 0;
      fixture.failpoints.arm('tx.before_commit', () => {
        if (++commits === 3) throw new Error('planted');
      });
      await expect(service.batch(body, 'k')).rejects.toThrow('planted');
      fixture.failpoints.disarm();
    };

    it('gives its key back; its repeat slings the rest, and takes nothing from who works on a bead by now', async () => {
      const [a, b] = [await h.create({ assignee: 'deacon' }), await h.create()];
      const body = { target, beads: [a, b], reassign: true };
      await breakOff(body);
      await h.change(a, { status: 'in_progress', assignee: target, lease: { ms: 60_000 } });
      const { value } = await service.batch(body, 'k');
      expect(value).toMatchObject({
        status: 'slung',
        results: [
          { bead: a, changed: true },
          { bead: b, changed: true },
        ],
        slung: 2,
      });
      expect(await h.bead(a)).toMatchObject({ status: 'in_progress', assignee: target });
      expect((await service.batch(body, 'k')).value).toEqual(value);
    });

    it('of a convoy answers a member as slung that has been closed since', async () => {
      const [a, b] = [await h.create(), await h.create()];
      const body = { target, convoy: await convoyOf([a, b]) };
      await breakOff(body);
      await h.close(a);
      const { value } = await service.batch(body, 'k');
      expect(value).toMatchObject({ status: 'slung', slung: 2, skipped: 0 });
      expect(value.results.map(({ bead, status }) => [bead, status])).toEqual([
        [a, 'slung'],
        [b, 'slung'],
      ]);
    });

    it('of a convoy whose members were all closed since answers what has become of each', async () => {
      const [a, b] = [await h.create(), await h.create()];
      const body = { target, convoy: await convoyOf([a, b]) };
      await breakOff(body);
      for (const bead of [a, b]) await h.close(bead);
      const { value } = await service.batch(body, 'k');
      expect(value).toMatchObject({ status: 'slung', slung: 1, skipped: 1 });
      expect(value.results.map(({ bead, status }) => [bead, status])).toEqual([
        [a, 'slung'],
        [b, 'skipped'],
      ]);
    });

    it('is begun anew by another request under its key', async () => {
      const [a, b] = [await h.create(), await h.create()];
      await breakOff({ target, beads: [a, b] });
      const { value } = await service.batch({ target, beads: [b, a] }, 'k');
      expect(value).toMatchObject({
        results: [
          { bead: b, changed: true },
          { bead: a, changed: false },
        ],
      });
    });
  });
});
