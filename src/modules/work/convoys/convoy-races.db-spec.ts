import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import type { WorkService } from '../work/work.service.js';
import { ConvoysRepository } from './convoys.repository.js';
import { ConvoysService } from './convoys.service.js';

/** What two processes do at the same time. */
interface Process {
  readonly work: WorkService;
  readonly convoys: ConvoysService;
}

let fixture: WorkFixture;
let here: Process;
let there: Process;
const processOf = (work: WorkService): Process => ({
  work,
  convoys: new ConvoysService(new ConvoysRepository(fixture.db), work, new Idempotency(new IdempotencyRepository())),
});
beforeEach(async () => {
  fixture = await workFixture();
  [here, there] = [processOf(fixture.work), processOf(fixture.another())];
});
afterEach(() => fixture.close());

const beads = (count: number): Promise<string[]> =>
  here.work
    .run(fixture.city, 'tester', async (w) => {
      const ids: string[] = [];
      for (let i = 0; i < count; i++) ids.push((await w.create({ rig: '', title: `b${i}` })).id);
      return ids;
    })
    .then((done) => done.value);
const convoy = async (...items: string[]): Promise<string> =>
  (await here.convoys.create(fixture.city, { title: 'batch', items }, undefined, ANYBODY)).value.id;
const close = (at: Process, id: string): Promise<unknown> => at.work.run(fixture.city, 'closer', (w) => w.close(id));
const add = (at: Process, id: string, ...items: string[]): Promise<unknown> => at.convoys.add(fixture.city, id, { items }, ANYBODY);
const remove = (at: Process, id: string, ...items: string[]): Promise<unknown> => at.convoys.remove(fixture.city, id, { items }, ANYBODY);
const closings = async (): Promise<unknown[]> => (await fixture.events()).filter((e) => e.type === 'convoy.closed').map((e) => e.payload);
const REASON = 'convoy autoclose: all children closed';

/** Runs `first` here up to its commit, then `second` there up to where it waits for a lock, then lets both finish. */
async function together(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<PromiseSettledResult<unknown>[]> {
  const gate = new HoldingGate();
  fixture.failpoints.arm('tx.before_commit', gate.action(1));
  const running = [first()];
  await eventually(() => gate.held === 1);
  running.push(second());
  await eventually(async () => {
    const { rows } = await sql`select from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`.execute(fixture.db);
    return rows.length > 0;
  });
  gate.release();
  return Promise.allSettled(running);
}

/** Takes the guard of all these tests away: the lock that makes the writers of a city's work take turns. */
const withoutLock = (): Promise<unknown> =>
  sql`create or replace function begin_work(p_stream integer) returns boolean language sql as $$
    select exists (select from cities c where c.stream_id = p_stream and c.running) $$`.execute(fixture.db);

describe('the last two members closed at once', () => {
  it('close their convoy exactly once', async () => {
    const [a, b] = (await beads(2)) as [string, string];
    await convoy(a, b);
    await together(
      () => close(here, a),
      () => close(there, b),
    );
    expect(await closings()).toEqual([{ total: 2, closed: 2, reason: REASON }]);
  });

  it('do not without the work lock: each takes the other for open', async () => {
    await withoutLock();
    const [a, b] = (await beads(2)) as [string, string];
    await convoy(a, b);
    await together(
      () => close(here, a),
      () => close(there, b),
    );
    expect(await closings()).toEqual([]);
  });
});

describe('the last open member leaves while the other is closed', () => {
  it('and the convoy closes exactly once, in either order', async () => {
    const [a, b] = (await beads(2)) as [string, string];
    const [c, d] = [await convoy(a, b), await convoy(a, b)];
    await together(
      () => close(here, a),
      () => remove(there, c, b),
    );
    await together(
      () => remove(here, d, b),
      () => close(there, b),
    );
    expect(await closings()).toEqual([
      { total: 1, closed: 1, reason: REASON },
      { total: 1, closed: 1, reason: REASON },
    ]);
  });

  it('and without the work lock it would wait forever', async () => {
    await withoutLock();
    const [a, b] = (await beads(2)) as [string, string];
    const c = await convoy(a, b);
    await together(
      () => close(here, a),
      () => remove(there, c, b),
    );
    expect(await closings()).toEqual([]);
  });

  it('or all leave: an empty convoy does not close', async () => {
    const [a, b] = (await beads(2)) as [string, string];
    const c = await convoy(a, b);
    await together(
      () => remove(here, c, a),
      () => remove(there, c, b),
    );
    await close(here, a);
    await close(there, b);
    expect(await closings()).toEqual([]);
  });
});

describe('two convoys added to each other at once', () => {
  it('do not end up in themselves', async () => {
    const [a, b] = [await convoy(), await convoy()];
    const [first, second] = await together(
      () => add(here, a, b),
      () => add(there, b, a),
    );
    expect([first!.status, (second as PromiseRejectedResult).reason]).toMatchObject(['fulfilled', { problem: 'dependency_cycle' }]);
  });

  it('do without the work lock', async () => {
    await withoutLock();
    const [a, b] = [await convoy(), await convoy()];
    const results = await together(
      () => add(here, a, b),
      () => add(there, b, a),
    );
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled']);
  });
});

it('two hundred members closed by eight in two processes close their convoy once, with the right counts', async () => {
  const ids = await beads(200);
  const c = await convoy(...ids);
  const rest = [...ids];
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      for (let id = rest.pop(); id !== undefined; id = rest.pop()) await close(i % 2 === 0 ? here : there, id);
    }),
  );
  expect(await closings()).toEqual([{ total: 200, closed: 200, reason: REASON }]);
  const types = (await fixture.events()).filter((e) => e.subject === c).map((e) => e.type);
  expect(types).toEqual(['bead.created', 'convoy.created', 'bead.closed', 'convoy.closed']);
});
