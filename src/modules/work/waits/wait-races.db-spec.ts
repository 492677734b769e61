import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../contract/principal.js';
import type { Work } from '../work/work.js';
import type { WorkService } from '../work/work.service.js';
import { waitFixture, type WaitFixture } from './testing/wait-fixture.js';
import type { WaitView } from './waits.schemas.js';

let t: WaitFixture;
beforeEach(async () => {
  t = await waitFixture();
});
afterEach(() => t.fixture.close());

describe('two processes', () => {
  it.each(['all', 'any'])('make a wait for %s ready exactly once however many close its beads at once', async (dep_mode) => {
    const other = t.fixture.another();
    const ids = await t.beads(24);
    const made = await Promise.all([
      t.create(ids, { dep_mode }),
      t.create(ids.slice(0, 3), { dep_mode }),
      t.create([ids[23]!], { dep_mode }),
    ]);
    await Promise.all(
      ids.flatMap((id, i) => [t.close(id, i % 2 === 0 ? t.fixture.work : other), t.close(id, i % 3 === 0 ? t.fixture.work : other)]),
    );
    const events = await t.fixture.events();
    for (const { id } of made) {
      expect(await t.get(id)).toMatchObject({ state: 'ready', nudge_id: `wait-${id}-1-1` });
      expect(await t.told(id)).toEqual(['pending', 'ready']);
      const stamps = events.flatMap((e) =>
        e.subject === id ? ((e.payload.bead as { metadata: { ready_at?: string } }).metadata.ready_at ?? []) : [],
      );
      expect(new Set(stamps).size).toBe(1);
    }
    // In the transaction that closed the bead: right behind its event.
    const single = events.findIndex((e) => e.subject === made[2].id && e.type === 'bead.updated');
    expect(events.slice(0, single).filter((e) => e.type === 'bead.closed' && e.subject === ids[23])).toHaveLength(1);
  });

  it('either expire a wait or make it ready, never both', async () => {
    const other = t.fixture.another();
    const ids = await t.beads(16);
    const made: WaitView[] = [];
    for (const id of ids) made.push(await t.create([id]));
    const sweeper = t.reconcilerOn(other);
    await Promise.all(
      made.map(async ({ id }, i) => {
        if (i % 2 === 0) await t.letDue(id);
        await Promise.all([t.close(ids[i]!), sweeper.sweep()]);
      }),
    );
    await sweeper.sweep();
    for (const [i, { id }] of made.entries()) {
      const states = await t.told(id);
      expect(
        i % 2 === 0
          ? [
              ['pending', 'expired'],
              ['pending', 'ready', 'expired'],
            ]
          : [['pending', 'ready']],
      ).toContainEqual(states);
    }
  });

  it('expire a wait once when both sweep', async () => {
    const made: WaitView[] = [];
    for (let i = 0; i < 30; i++) made.push(await t.create([], { kind: 'manual' }));
    for (const { id } of made) await t.letDue(id);
    const at = (await t.fixture.events()).length;
    const counts = await Promise.all([t.reconcilerOn(t.fixture.work).sweep(), t.reconcilerOn(t.fixture.another()).sweep()]);
    expect(counts[0] + counts[1]).toBe(30);
    const events = await t.fixture.events(at);
    expect(events.map((e) => `${e.type} ${e.actor}`)).toEqual(Array(30).fill('bead.closed reconciler'));
    expect(new Set(events.map((e) => e.subject)).size).toBe(30);
  });

  it('accept a nudge once', async () => {
    const { id } = await t.create([], { kind: 'manual' });
    const { value } = await t.waits.ready(t.fixture.city, id, undefined, ANYBODY);
    const at = (await t.fixture.events()).length;
    const other = t.serviceOn(t.fixture.another());
    const outcome = { nudge_id: value.nudge_id! };
    await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? t.waits : other).accept(t.fixture.city, id, outcome, ANYBODY)));
    expect((await t.fixture.events(at)).map((e) => e.type)).toEqual(['bead.closed']);
  });

  it('register a wait for a bead that the other closes, and it is ready in the end', async () => {
    const ids = await t.beads(20);
    const other = t.fixture.another();
    const made = await Promise.all(ids.flatMap((id) => [t.create([id]), t.close(id, other)]));
    for (const wait of made.filter((one) => one !== undefined)) {
      expect((await t.get(wait.id)).state).toBe('ready');
      expect((await t.told(wait.id)).filter((state) => state === 'ready')).toHaveLength(1);
    }
  });
});

/** What the tests above are there for: each anomaly appears as soon as the city's work lock is taken out. */
describe('two processes without the work lock', () => {
  /** The service of `work`, with something to do before a transaction goes on from `step`. */
  const interrupted = (step: 'putEdges' | 'now', meanwhile: () => Promise<void>, work = t.fixture.work): WorkService => {
    const run: WorkService['run'] = (city, actor, body) =>
      work.run(city, actor, (w) => {
        const own = w[step].bind(w) as (...args: unknown[]) => Promise<never>;
        w[step] = (async (...args: unknown[]) => {
          await meanwhile();
          return own(...args);
        }) as Work['putEdges'] & Work['now'];
        return body(w);
      });
    return { run } as WorkService;
  };

  it('leave a wait pending whose bead is closed', async () => {
    await t.takeOutLock();
    const [id] = (await t.beads(1)) as [string];
    const service = t.serviceOn(interrupted('putEdges', () => t.close(id, t.fixture.another())));
    const wait = await t.create([id], {}, service);
    expect((await t.get(wait.id)).state).toBe('pending');
  });

  it('accept a nudge twice', async () => {
    const { id } = await t.create([], { kind: 'manual' });
    const { value } = await t.waits.ready(t.fixture.city, id, undefined, ANYBODY);
    await t.takeOutLock();
    let arrived = 0;
    let go!: () => void;
    const both = new Promise<void>((resolve) => (go = resolve));
    const meet = async (): Promise<void> => {
      if (++arrived === 2) go();
      await both;
    };
    const at = (await t.fixture.events()).length;
    await Promise.all(
      [t.fixture.work, t.fixture.another()].map((work) =>
        t.serviceOn(interrupted('now', meet, work)).accept(t.fixture.city, id, { nudge_id: value.nudge_id! }, ANYBODY),
      ),
    );
    expect((await t.fixture.events(at)).map((e) => e.type)).toEqual(['bead.closed', 'bead.closed']);
  });
});
