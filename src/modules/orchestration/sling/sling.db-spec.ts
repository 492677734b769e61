import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
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

const PAST = new Date('2020-01-01T00:00:00Z');

describe('a sling', () => {
  it('routes the bead under the canonical name and lets a convoy follow it, in one transaction', async () => {
    const bead = await h.create({ rig: 'web' });
    let done!: Awaited<ReturnType<Slings['sling']>>;
    const events = await h.eventsOf(async () => (done = await service.sling({ target: 'polecat-3', rig: 'web', bead, merge: 'mr' })));
    expect(done.value).toEqual({
      status: 'slung',
      target: 'web/polecat',
      bead,
      mode: 'direct',
      convoy_id: 'web-2',
      changed: true,
      warnings: [],
    });
    expect(events).toEqual(['bead.created web-2', 'convoy.created web-2', `bead.updated ${bead}`]);
    expect(done.index).toBe((await fixture.events()).at(-1)!.seq);
    expect(await h.bead(bead)).toMatchObject({
      status: 'open',
      assignee: null,
      metadata: { 'gc.routed_to': 'web/polecat', merge_strategy: 'mr' },
    });
    expect(await h.bead('web-2')).toMatchObject({ title: `sling-${bead}`, issue_type: 'convoy', sling_source: bead, labels: [] });
    expect((await fixture.events()).at(-1)).toMatchObject({ actor: 'api', payload: { bead: { id: bead } } });
  });

  it('changes nothing and reports nothing when it is repeated', async () => {
    const bead = await h.create();
    const first = await service.sling({ target: 'mayor', bead });
    const head = first.index;
    for (const again of [{ target: 'mayor' }, { target: 'mayor-1', no_convoy: true }, { target: 'mayor', force: true, reassign: true }])
      expect(await service.sling({ ...again, bead })).toEqual({
        value: { ...first.value, changed: false },
        index: head,
      });
    await h.change(bead, { assignee: 'mayor', status: 'in_progress' });
    expect((await service.sling({ target: 'mayor', bead })).value).toMatchObject({ changed: false, warnings: [] });
    expect(await h.bead(bead)).toMatchObject({ status: 'in_progress', assignee: 'mayor' });
  });

  it('takes work that waits for other work: it is offered when that is closed', async () => {
    const [bead, other] = [await h.create(), await h.create()];
    await service.sling({ target: 'mayor', bead });
    await h.edge(bead, other);
    expect((await service.sling({ target: 'mayor', bead })).value).toMatchObject({
      changed: false,
      warnings: [`bead ${bead} is blocked by ${other}`],
    });
    expect((await service.sling({ target: 'mayor', bead, merge: 'mr' })).value).toMatchObject({ changed: true });
    expect(await h.bead(bead)).toMatchObject({ ready: false, metadata: { 'gc.routed_to': 'mayor' } });
    await h.close(other);
    expect((await h.bead(bead)).ready).toBe(true);
  });

  it('makes the convoy anew when it has closed, mends it when it has lost the bead, and hands it over when asked', async () => {
    const bead = await h.create();
    const convoy = (await service.sling({ target: 'mayor', bead })).value.convoy_id!;
    await h.run((work) => work.deleteEdge(convoy, bead));
    expect((await service.sling({ target: 'mayor', bead })).value).toMatchObject({ changed: true, convoy_id: convoy });
    expect((await h.bead(convoy)).snapshot.dependencies).toMatchObject([{ depends_on_id: bead, type: 'tracks' }]);
    expect((await service.sling({ target: 'mayor', bead, owned: true })).value).toMatchObject({ changed: true, convoy_id: convoy });
    expect((await h.bead(convoy)).labels).toEqual(['owned']);
    expect((await service.sling({ target: 'mayor', bead, owned: true })).value.changed).toBe(false);
    await h.close(convoy);
    const next = (await service.sling({ target: 'mayor', bead, owned: true })).value;
    expect(next).toMatchObject({ changed: true });
    expect(next.convoy_id).not.toBe(convoy);
    expect((await h.bead(next.convoy_id!)).labels).toEqual(['owned']);
  });

  it('makes no convoy when none is wanted, and keeps the one there is over a change of route', async () => {
    const [quiet, bead] = [await h.create(), await h.create()];
    expect(await h.eventsOf(() => service.sling({ target: 'mayor', bead: quiet, no_convoy: true }))).toEqual([`bead.updated ${quiet}`]);
    const { convoy_id } = (await service.sling({ target: 'mayor', bead })).value;
    expect(await h.eventsOf(() => service.sling({ target: 'deacon', bead, force: true }))).toEqual([`bead.updated ${bead}`]);
    expect((await service.sling({ target: 'deacon', bead })).value.convoy_id).toBe(convoy_id);
  });

  it('leaves the owner with force, takes the bead away with reassign', async () => {
    const bead = await h.create({}, { assignee: 'deacon', status: 'in_progress', lease: { ms: 60_000 } });
    expect((await service.sling({ target: 'mayor', bead, force: true })).value.warnings).toEqual([`bead ${bead} is still owned by deacon`]);
    expect(await h.bead(bead)).toMatchObject({ status: 'in_progress', assignee: 'deacon' });
    expect((await service.sling({ target: 'mayor', bead, reassign: true })).value).toMatchObject({
      changed: true,
      warnings: [`bead ${bead} was taken from deacon`],
    });
    expect(await h.bead(bead)).toMatchObject({ status: 'open', assignee: null, lease_until: null, ready: true });
  });

  it('takes a route or an owner under another name of the target for the target', async () => {
    const bead = await h.create({ rig: 'web', assignee: 'web/polecat-2', metadata: { 'gc.routed_to': 'web/polecat-1' } });
    expect((await service.sling({ target: 'web/polecat', bead })).value).toMatchObject({ changed: true, warnings: [] });
    expect(await h.bead(bead)).toMatchObject({ assignee: 'web/polecat-2', metadata: { 'gc.routed_to': 'web/polecat' } });
  });

  it('warns of what it was told to override and of what keeps the bead from being worked on', async () => {
    const [bead, other] = [
      await h.create({ rig: 'core', labels: ['hold:mayor', 'x'], metadata: { 'gc.routed_to': 'mayor' } }),
      await h.create(),
    ];
    await h.edge(bead, other);
    const forced = await service.sling({ target: 'web/polecat', bead, force: true });
    expect(forced.value.warnings).toEqual([
      `bead ${bead} was routed to mayor`,
      `bead ${bead} is blocked by ${other}`,
      `bead ${bead} belongs to the rig core, its target to the rig web`,
      `bead ${bead} is held back by its label hold:mayor`,
    ]);
    const gate = await h.create({ type: 'gate' });
    expect((await service.sling({ target: 'mayor', bead: gate })).value.warnings).toEqual([
      `bead ${gate} is of a kind that is never offered as work (type gate)`,
    ]);
    expect((await service.sling({ target: 'mayor', bead: await h.create({ deferUntil: PAST }) })).value.warnings).toEqual([]);
  });

  it('replays its answer under the same key, whatever has happened to the bead since', async () => {
    const bead = await h.create();
    const body = { target: 'mayor', bead };
    const first = await service.sling(body, 'k');
    await h.close(bead);
    expect((await service.sling(body, 'k')).value).toEqual(first.value);
    await expect(service.sling({ ...body, target: 'deacon' }, 'k')).rejects.toMatchObject({ problem: 'idempotency_mismatch' });
    expect((await service.sling({ target: 'deacon', bead: await h.create(), dry_run: true }, 'k')).value.status).toBe('would_sling');
    await expect(service.sling(body)).rejects.toMatchObject({ problem: 'sling_refused' });
  });

  it('works in a running city only', async () => {
    const bead = await h.create();
    await sql`update cities set running = false`.execute(fixture.db);
    await expect(service.sling({ target: 'mayor', bead })).rejects.toMatchObject({ problem: 'city_not_found' });
  });
});
