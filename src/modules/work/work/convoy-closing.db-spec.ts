import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { NewBead } from './bead-record.js';
import type { Work } from './work.js';

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const bead = (more: Partial<NewBead> = {}): Promise<string> => run((w) => w.create({ rig: '', title: 'x', ...more })).then((b) => b.id);
const convoy = (items: readonly string[], more: Partial<NewBead> = {}): Promise<string> =>
  run(async (w) => {
    const { id } = await w.create({ rig: '', title: 'batch', type: 'convoy', ...more });
    for (const item of items) await w.putEdge({ issue_id: id, depends_on_id: item, type: 'tracks' });
    return id;
  });
const eventsOf = async (body: (work: Work) => Promise<unknown>): Promise<string[]> => {
  const at = (await fixture.events()).length;
  await run(body);
  return (await fixture.events(at)).map((e) => `${e.type} ${e.subject}`);
};

describe('a convoy', () => {
  it('closes with its last open member, told once, after its own bead event', async () => {
    const [a, b] = [await bead(), await bead({ rig: 'web' })];
    const c = await convoy([a, b]);
    expect(await eventsOf((w) => w.close(a))).toEqual([`bead.closed ${a}`]);
    expect(await eventsOf((w) => w.close(b))).toEqual([`bead.closed ${b}`, `bead.closed ${c}`, `convoy.closed ${c}`]);
    const last = (await fixture.events()).at(-1)!;
    const reason = 'convoy autoclose: all children closed';
    expect(last).toMatchObject({ actor: 'tester', message: 'batch', payload: { total: 2, closed: 2, reason } });
    expect(await run((w) => w.require(c))).toMatchObject({ status: 'closed', metadata: { close_reason: reason } });
  });

  it('counts its children, and what it tracks and is its child only once', async () => {
    const c = await convoy([]);
    const child = await bead({ parent: c });
    const both = await bead({ parent: c });
    await run((w) => w.putEdge({ issue_id: c, depends_on_id: both, type: 'tracks' }));
    expect(await eventsOf((w) => w.close(both))).toEqual([`bead.closed ${both}`]);
    await run((w) => w.close(child));
    expect((await fixture.events()).at(-1)).toMatchObject({ type: 'convoy.closed', payload: { total: 2, closed: 2 } });
  });

  it('closes the convoys that it is in, and they theirs', async () => {
    const a = await bead();
    const inner = await convoy([a]);
    const middle = await convoy([inner, a]);
    const outer = await convoy([middle]);
    expect(await eventsOf((w) => w.close(a))).toEqual([
      `bead.closed ${a}`,
      ...[inner, middle, outer].flatMap((c) => [`bead.closed ${c}`, `convoy.closed ${c}`]),
    ]);
  });

  it('closes when its last open member is removed, unless nothing is left', async () => {
    const [a, b, d] = [await bead(), await bead(), await bead()];
    const c = await convoy([a, b]);
    const inner = await convoy([d, a], { parent: await convoy([]) });
    await run((w) => w.close(a));
    expect(await eventsOf((w) => w.remove(b))).toEqual([`bead.closed ${c}`, `bead.deleted ${b}`, `convoy.closed ${c}`]);
    expect((await fixture.events()).at(-1)).toMatchObject({ payload: { total: 1, closed: 1 } });
    await run((w) => w.reopen(c));
    expect(await eventsOf((w) => w.remove(a))).toEqual([`bead.updated ${c}`, `bead.updated ${inner}`, `bead.deleted ${a}`]);
    expect(await eventsOf((w) => w.remove(d))).toEqual([`bead.updated ${inner}`, `bead.deleted ${d}`]);
  });

  it('waits for its owner when it has one, and for nothing that does not count', async () => {
    const [a, b] = [await bead(), await bead()];
    await convoy([a], { labels: ['owned'] });
    const informed = await bead();
    await run(async (w) => {
      await w.putEdge({ issue_id: informed, depends_on_id: a, type: 'tracks' });
      const { id } = await w.create({ rig: '', title: 'related', type: 'convoy' });
      await w.putEdge({ issue_id: id, depends_on_id: b, type: 'related' });
    });
    expect(await eventsOf((w) => w.close(a))).toEqual([`bead.closed ${a}`]);
    expect(await eventsOf((w) => w.close(b))).toEqual([`bead.closed ${b}`]);
  });

  it('that is closed by hand says so once, with what is open counted; reopened it may close again', async () => {
    const [a, b] = [await bead(), await bead()];
    const c = await convoy([a, b]);
    await run((w) => w.close(a));
    expect(await eventsOf((w) => w.update(c, { status: 'closed' }))).toEqual([`bead.closed ${c}`, `convoy.closed ${c}`]);
    expect((await fixture.events()).at(-1)!.payload).toEqual({ total: 2, closed: 1 });
    expect(await eventsOf((w) => w.close(c, 'again'))).toEqual([]);
    expect(await eventsOf((w) => w.close(b))).toEqual([`bead.closed ${b}`]);
    await run((w) => w.reopen(c));
    await run((w) => w.reopen(b));
    expect(await eventsOf((w) => w.close(b))).toEqual([`bead.closed ${b}`, `bead.closed ${c}`, `convoy.closed ${c}`]);
  });

  it('closes when its last open child gets another parent, and not over one that leaves last', async () => {
    const [c, other] = [await convoy([]), await bead()];
    const [open, done] = [await bead({ parent: c }), await bead({ parent: c })];
    await run((w) => w.close(done));
    expect(await eventsOf((w) => w.update(open, { parent: other }))).toEqual([
      `bead.updated ${open}`,
      `bead.closed ${c}`,
      `convoy.closed ${c}`,
    ]);
    const empty = await convoy([]);
    const only = await bead({ parent: empty });
    expect(await eventsOf((w) => w.update(only, { parent: null }))).toEqual([`bead.updated ${only}`]);
  });

  it('closes when its owner lets it go and nothing is left to wait for', async () => {
    const a = await bead();
    const c = await convoy([a], { labels: ['owned', 'x'] });
    await run((w) => w.close(a));
    expect(await eventsOf((w) => w.update(c, { removeLabels: ['x'] }))).toEqual([`bead.updated ${c}`]);
    expect(await eventsOf((w) => w.update(c, { removeLabels: ['owned'] }))).toEqual([`bead.closed ${c}`, `convoy.closed ${c}`]);
    const waiting = await convoy([await bead()], { labels: ['owned'] });
    expect(await eventsOf((w) => w.update(waiting, { removeLabels: ['owned'] }))).toEqual([`bead.updated ${waiting}`]);
  });

  it('that was made to follow one bead goes with it', async () => {
    const [a, b] = [await bead(), await bead()];
    const c = await convoy([a], { slingSource: a });
    const owned = await convoy([b], { slingSource: b, labels: ['owned'] });
    expect(await eventsOf((w) => w.remove(a))).toEqual([`bead.closed ${c}`, `bead.deleted ${a}`, `convoy.closed ${c}`]);
    expect(await eventsOf((w) => w.remove(b))).toEqual([`bead.updated ${owned}`, `bead.deleted ${b}`]);
  });
});
