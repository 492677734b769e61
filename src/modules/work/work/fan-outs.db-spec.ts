import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { workFixture, type LoggedEvent, type WorkFixture } from '../../../../test/support/work.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { DependenciesRepository } from '../dependencies/dependencies.repository.js';
import { DependenciesService } from '../dependencies/dependencies.service.js';
import { FanOutKeeper } from './fan-out-keeper.js';
import { FanOutsRepository } from './fan-outs.repository.js';
import { carryOut } from './testing/carry-out.js';
import { expectState, makeCity } from './testing/follow.js';
import { history, type Step } from './testing/steps.js';
import { storedWork } from './testing/stored-work.js';
import { WorkModel } from './testing/work-model.js';
import type { Work } from './work.js';
import type { WorkService } from './work.service.js';

const MANY = 12;
const SMALL = { few: 3, step: 5 };
const log = new AppLogger(createLogger('silent'));

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
  fixture.work.limits = SMALL;
});
afterEach(() => fixture.close());

function keeperOf(work: WorkService = fixture.work, failpoints = new Failpoints()): FanOutKeeper {
  return new FanOutKeeper(new FanOutsRepository(fixture.db), work, failpoints, log, {} as DuePoller);
}
function replica(): WorkService {
  const other = fixture.another();
  other.limits = SMALL;
  return other;
}
const run = <T>(body: (work: Work) => Promise<T>, work = fixture.work): Promise<T> =>
  work.run(fixture.city, 'tester', body).then((done) => done.value);
const closed = (id: string, work = fixture.work): Promise<unknown> => run((w) => w.close(id), work);
const told = async (above = 0): Promise<string[]> => (await fixture.events(above)).map((e) => `${e.type} ${e.subject}`);
const head = async (): Promise<number> => (await fixture.events()).length;

/** A bead, and so many that depend on it in this way. */
async function fan(type = 'blocks', n = MANY): Promise<{ bead: string; dependents: string[] }> {
  return run(async (w) => {
    const { id: bead } = await w.create({ rig: '', title: 'awaited' });
    const dependents: string[] = [];
    for (let i = 0; i < n; i++) {
      const wait = { type: 'gate', labels: ['gc:wait'], metadata: { state: 'pending', dep_mode: 'all' } };
      const kind = type === 'tracks' ? { type: 'convoy' } : type === 'waits-for' ? wait : {};
      const { id } = await w.create({ rig: '', title: `dependent ${i}`, ...kind });
      await w.putEdge({ issue_id: id, depends_on_id: bead, type });
      dependents.push(id);
    }
    return { bead, dependents };
  });
}

/** Every counter is what the edges say, nothing is left to do, and the last that was told of each bead is what it is. */
async function expectSettled(streamId = fixture.city.streamId): Promise<void> {
  expect(await fixture.db.selectFrom('bead_fan_outs').select('bead_id').where('stream_id', '=', streamId).execute()).toEqual([]);
  const { beads, events } = await storedWork(fixture.db, streamId, 0);
  const last = new Map(events.flatMap(({ subject, payload }) => ('bead' in payload ? [[subject, payload.bead] as const] : [])));
  for (const [id, { row, blockers, json }] of Object.entries(beads)) {
    expect({ id, open: row.open_blockers }).toEqual({ id, open: blockers.length });
    expect(last.get(id)).toEqual(json);
  }
}

describe('a bead with many dependents', () => {
  it('closes at once; they are told in steps, each once, and the end is one event', async () => {
    const { bead, dependents } = await fan();
    const at = await head();
    await closed(bead);
    expect(await told(at)).toEqual([`bead.closed ${bead}`]);
    expect(await run((w) => w.require(dependents[0]!))).toMatchObject({ open_blockers: 1, ready: false, snapshot: { is_blocked: true } });
    expect(await keeperOf().turn()).toBe(4);
    const events = await fixture.events(at + 1);
    const ordered = [...dependents].sort();
    expect(events.map((e) => `${e.type} ${e.subject}`)).toEqual([
      ...ordered.map((id) => `bead.updated ${id}`),
      `bead.dependents_updated ${bead}`,
    ]);
    expect(events.at(-1)).toMatchObject({ actor: 'reconciler', payload: { bead_id: bead, status: 'closed', told: MANY, changed: MANY } });
    await expectSettled();
    await run((w) => w.reopen(bead));
    await keeperOf().turn();
    expect(await run((w) => w.require(dependents[0]!))).toMatchObject({ open_blockers: 1, ready: false });
    expect((await fixture.events()).at(-1)).toMatchObject({ payload: { bead_id: bead, status: 'open', changed: MANY } });
    await expectSettled();
    expect(await keeperOf().turn()).toBe(0);
  });

  it('tells few of them in its own transaction, as ever', async () => {
    const { bead, dependents } = await fan('blocks', SMALL.few);
    const at = await head();
    await closed(bead);
    expect(await told(at)).toEqual([`bead.closed ${bead}`, ...dependents.map((id) => `bead.updated ${id}`)]);
    expect(await keeperOf().turn()).toBe(0);
  });

  it('says of itself how far that is, and of them what they have yet to hear', async () => {
    const { bead, dependents } = await fan();
    const [first, , last] = [...dependents].sort().filter((_, i) => [0, 1, MANY - 1].includes(i));
    const service = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
    const page = async (id: string) => (await service.list(fixture.city, id, { limit: 0 } as never)).value;
    await closed(bead);
    const failpoints = new Failpoints();
    const stopped = new AbortController();
    failpoints.arm('fan_out.after_step', () => stopped.abort());
    expect(await keeperOf(fixture.work, failpoints).turn(stopped.signal)).toBe(1);
    expect(await page(bead)).toMatchObject({ fan_out: { told: SMALL.step, changed: SMALL.step } });
    expect(await page(last!)).toMatchObject({ blocked_by: [], settling: [bead] });
    expect(await page(first!)).not.toHaveProperty('settling');
    await release("clock_timestamp() + interval '1 hour'");
    expect(await keeperOf().turn()).toBe(0);
    await release();
    await keeperOf().turn();
    expect(await page(bead)).not.toHaveProperty('fan_out');
    expect(await page(last!)).not.toHaveProperty('settling');
  });

  it('begins anew where it is opened again, and leaves what others have changed meanwhile', async () => {
    const { bead, dependents } = await fan();
    const [first, second, , another] = [...dependents].sort() as [string, string, string, string];
    const last = [...dependents].sort().at(-1)!;
    await closed(bead);
    await oneStep();
    // Behind the step and before it: edges come and go, another blocker closes, one is removed for good.
    const extra = await run(async (w) => {
      const { id } = await w.create({ rig: '', title: 'another blocker' });
      for (const issue of [first, last]) await w.putEdge({ issue_id: issue, depends_on_id: id, type: 'blocks' });
      await w.deleteEdge(second, bead);
      await w.deleteEdge([...dependents].sort().at(-2)!, bead);
      await w.remove(another);
      return id;
    });
    await run((w) => w.reopen(bead));
    await run((w) => w.close(extra));
    await release();
    await keeperOf().turn();
    await expectSettled();
    expect(await run((w) => w.findAll([first, second, last]))).toMatchObject([{ ready: false }, { ready: true }, { ready: false }]);
    const ends = (await fixture.events()).filter((e) => e.type === 'bead.dependents_updated');
    expect(ends).toMatchObject([{ payload: { status: 'open' } }]);
    await run((w) => w.close(bead));
    await run((w) => w.remove(bead));
    await keeperOf().turn();
    await expectSettled();
  });

  it.each(['tracks', 'waits-for'])('closes convoys and makes waits ready in the same way (%s)', async (type) => {
    const { bead, dependents } = await fan(type);
    await closed(bead);
    await keeperOf().turn();
    const all = await run((w) => w.findAll(dependents));
    expect(all.filter((one) => (type === 'tracks' ? one.status !== 'closed' : one.metadata.state !== 'ready'))).toEqual([]);
    const kind = type === 'tracks' ? 'convoy.closed' : 'bead.updated';
    const about = (e: LoggedEvent): boolean => e.type === kind && dependents.includes(e.subject!) && e.actor === 'reconciler';
    expect((await fixture.events()).filter(about)).toHaveLength(MANY);
    await expectSettled();
  });

  it('is removed for good in steps, which each of them is told of', async () => {
    const { bead, dependents } = await fan('waits-for');
    let steps = 0;
    while (!(await run((w) => w.removeSome(bead)))) expect(await run((w) => w.edges(bead, 'up'))).toHaveLength(MANY - ++steps * SMALL.step);
    expect(steps).toBe(2);
    const waits = await run((w) => w.findAll(dependents));
    expect(waits.filter(({ status, metadata }) => status !== 'closed' || metadata.state !== 'failed')).toEqual([]);
    expect((await told()).at(-1)).toBe(`bead.deleted ${bead}`);
    await expectSettled();
  });

  it.each([
    ['an edge', async (w: Work, bead: string, [first]: string[]) => w.deleteEdge(first!, bead)],
    ['the bead', (w: Work, bead: string) => w.remove(bead)],
    ['some edges to it', (w: Work, bead: string) => w.removeSome(bead)],
    ['it among many beads', (w: Work, bead: string) => w.removeAll([bead])],
  ])('tells those first that lose their edges to it meanwhile (%s)', async (_, take) => {
    const [followed, awaited] = [await fan('tracks'), await fan('waits-for')];
    for (const { bead, dependents } of [followed, awaited]) {
      await closed(bead);
      await run<unknown>((w) => take(w, bead, dependents));
    }
    await keeperOf().turn();
    expect((await run((w) => w.findAll(followed.dependents))).filter(({ status }) => status !== 'closed')).toEqual([]);
    expect((await run((w) => w.findAll(awaited.dependents))).filter(({ metadata }) => metadata.state !== 'ready')).toEqual([]);
    await expectSettled();
  });

  it('is told of by closing many at once, too', async () => {
    const { bead, dependents } = await fan();
    const { bead: small, dependents: few } = await fan('blocks', 2);
    await run((w) => w.closeAll([bead, small], { close_reason: 'over' }));
    expect(await run((w) => w.findAll([dependents[0]!, few[0]!]))).toMatchObject([{ ready: false }, { ready: true }]);
    await keeperOf().turn();
    expect(await run((w) => w.require(dependents[0]!))).toMatchObject({ ready: true });
    await expectSettled();
  });
});

/** Until when whoever took the last step holds the rest; without it the process is dead for long. */
const release = (until = "'epoch'"): Promise<unknown> => sql`update bead_fan_outs set held_until = ${sql.raw(until)}`.execute(fixture.db);

async function oneStep(): Promise<void> {
  const stopped = new AbortController();
  const failpoints = new Failpoints();
  failpoints.arm('fan_out.after_step', () => stopped.abort());
  await keeperOf(fixture.work, failpoints).turn(stopped.signal);
}

describe('processes that go on with fan-outs', () => {
  it('tell each dependent once, whenever one of them loses its connection', async () => {
    // A step is some ten statements: so it dies at its beginning, within it, at its commit and in the step after.
    for (const statement of DEEP ? Array.from({ length: 40 }, (_, i) => i + 1) : [3, 8, 14]) {
      const { bead, dependents } = await fan();
      const at = await head();
      await closed(bead);
      const mortal = fixture.mortal();
      mortal.work.limits = SMALL;
      mortal.dieAt(statement);
      await keeperOf(mortal.work).turn();
      mortal.dieAt(undefined);
      await release();
      await Promise.all([keeperOf().turn(), keeperOf(replica()).turn()]);
      while ((await fixture.db.selectFrom('bead_fan_outs').select('bead_id').execute()).length > 0) {
        await release();
        await keeperOf().turn();
      }
      const about = (await told(at)).sort();
      expect(about).toEqual(
        [`bead.closed ${bead}`, `bead.dependents_updated ${bead}`, ...dependents.map((id) => `bead.updated ${id}`)].sort(),
      );
    }
    await expectSettled();
  });

  it('end right beside writers that close, open, connect and remove the same beads through two replicas', async () => {
    const other = replica();
    await fc.assert(
      fc.asyncProperty(history, history, async (here, there) => {
        const city = await makeCity(fixture);
        const made: string[] = [];
        let writing = true;
        const writer = async (work: WorkService, steps: readonly (readonly Step[])[]): Promise<void> => {
          // What is refused is: the other writer was first.
          for (const step of steps.flat()) await work.run(city, 'tester', (w) => carryOut(w, step, made)).catch(() => undefined);
        };
        const keeping = async (keeper: FanOutKeeper): Promise<void> => {
          while (writing) await keeper.turn();
        };
        fixture.work.limits = other.limits = { few: 0, step: 1 };
        const keepers = Promise.all([keeping(keeperOf()), keeping(keeperOf(other))]);
        await Promise.all([writer(fixture.work, here), writer(other, there)]);
        writing = false;
        await keepers;
        await release();
        await keeperOf().turn();
        await expectSettled(city.streamId);
      }),
      { numRuns: DEEP ? 100 : 3, endOnFailure: true },
    );
  });

  it('lead to what one transaction would have, in beads, revisions and events', async () => {
    fixture.work.limits = { few: 0, step: 1 };
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const city = await makeCity(fixture);
        const model = new WorkModel();
        const made: string[] = [];
        const keeper = keeperOf();
        let from = 0;
        for (const step of steps.flat()) {
          const { events } = model.transact([step], () => undefined);
          await fixture.work.run(city, 'model', (w) => carryOut(w, step, made)).catch(() => undefined);
          await keeper.turn();
          const stored = await storedWork(fixture.db, city.streamId, from);
          expectState(model, stored);
          const found = stored.events.map((e) => `${e.type} ${e.subject}`);
          for (const { type, subject } of events) {
            expect(found).toContain(`${type} ${subject}`);
            found.splice(found.indexOf(`${type} ${subject}`), 1);
          }
          // What one transaction tells of a bead once, two may tell twice.
          const twice = events.map(({ subject }) => `bead.updated ${subject}`);
          expect(found.filter((one) => !one.startsWith('bead.dependents_updated ') && !twice.includes(one))).toEqual([]);
          from = stored.head;
        }
      }),
      { numRuns: DEEP ? 100 : 4, endOnFailure: true },
    );
  });
});
