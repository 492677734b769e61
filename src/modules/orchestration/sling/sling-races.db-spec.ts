import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { hands, slings, type Slings } from './testing/slings.js';

let fixture: WorkFixture;
let h: ReturnType<typeof hands>;
let a: Slings;
let b: Slings;
beforeEach(async () => {
  fixture = await workFixture();
  h = hands(fixture);
  a = slings(fixture);
  b = slings(fixture, fixture.another());
});
afterEach(() => fixture.close());

/** The work lock taken away: what two processes read then no longer holds when they write. */
const withoutLock = (): Promise<unknown> =>
  sql`create or replace function begin_work(p_stream integer) returns boolean language sql as $$ select true $$`.execute(fixture.db);

/** Starts `calls` while the bead's row cannot be written, and lets go once each of them waits for a lock. */
async function together<T>(bead: string, calls: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
  const holder = await fixture.pool.connect();
  try {
    await holder.query('begin');
    await holder.query('select from beads where id = $1 for no key update', [bead]);
    const all = Promise.allSettled(calls.map((call) => call()));
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await eventually(async () => (await fixture.pool.query(waiting)).rowCount === calls.length);
    await holder.query('commit');
    return await all;
  } finally {
    holder.release();
  }
}

describe('two processes that sling one bead to two targets at once', () => {
  const race = async (): Promise<[string, PromiseSettledResult<unknown>[]]> => {
    const bead = await h.create();
    const sling = (by: Slings, target: string) => () => by.sling({ target, bead, no_convoy: true });
    return [bead, await together(bead, [sling(a, 'mayor'), sling(b, 'deacon')])];
  };

  it('give it to one; the other hears to whom', async () => {
    const [bead, results] = await race();
    const won = (await h.bead(bead)).metadata['gc.routed_to'];
    expect(results.filter((one) => one.status === 'fulfilled')).toMatchObject([{ value: { value: { target: won, changed: true } } }]);
    expect(results.filter((one) => one.status === 'rejected')).toMatchObject([
      { reason: { problem: 'sling_refused', detail: `conflict: bead ${bead} is routed to ${won}; pass force to override` } },
    ]);
    expect((await fixture.events()).filter((e) => e.type === 'bead.updated')).toHaveLength(1);
  });

  it('would both believe to have it without the work lock', async () => {
    await withoutLock();
    const [, results] = await race();
    expect(results).toMatchObject([
      { status: 'fulfilled', value: { value: { target: 'mayor', changed: true } } },
      { status: 'fulfilled', value: { value: { target: 'deacon', changed: true } } },
    ]);
  });

  it('give each of many beads to one', async () => {
    const beads = await Promise.all(Array.from({ length: 10 }, () => h.create()));
    await Promise.all(
      beads.map(async (bead) => {
        const slung = await Promise.allSettled([a.sling({ target: 'mayor', bead }), b.sling({ target: 'deacon', bead })]);
        expect(slung.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
        const { value } = slung.find((one) => one.status === 'fulfilled')!.value;
        const lost = slung.find((one) => one.status === 'rejected')!.reason as unknown;
        expect((await h.bead(bead)).metadata).toEqual({ 'gc.routed_to': value.target });
        expect(lost).toMatchObject({ errors: expect.arrayContaining([expect.objectContaining({ value: value.target })]) });
      }),
    );
  });
});

describe('many slings of one bead to one target at once', () => {
  it('are one: one convoy, one set of events', async () => {
    const bead = await h.create();
    const head = (await fixture.events()).length;
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).sling({ target: 'mayor', bead })));
    expect(answers.filter(({ value }) => value.changed)).toHaveLength(1);
    expect(new Set(answers.map(({ value }) => value.convoy_id))).toEqual(new Set(['al-2']));
    expect((await fixture.events(head)).map((e) => `${e.type} ${e.subject}`)).toEqual([
      'bead.created al-2',
      'convoy.created al-2',
      `bead.updated ${bead}`,
    ]);
  });

  const twice = async (): Promise<PromiseSettledResult<unknown>[]> => {
    const bead = await h.create();
    return together(
      bead,
      [a, b].map((by) => () => by.sling({ target: 'mayor', bead })),
    );
  };

  it('all succeed, whoever was first', async () => {
    const results = await twice();
    expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  });

  it('would fail over the second convoy without the work lock', async () => {
    await withoutLock();
    const failed = (await twice()).filter((one) => one.status === 'rejected');
    expect(failed).toMatchObject([{ reason: { constraint: 'beads_sling_source_key' } }]);
  });
});
