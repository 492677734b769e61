import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createPool, type PgPool } from '../../../platform/database/database.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { hookProcess, type HookProcess } from './testing/hook-process.js';

/** Two processes on one database. */
let fixture: WorkFixture;
let pool: PgPool;
let a: HookProcess;
let b: HookProcess;
beforeEach(async () => {
  fixture = await workFixture();
  pool = createPool(fixture.pool.options.connectionString!);
  a = hookProcess(fixture);
  b = hookProcess(fixture, { pool, work: fixture.another() });
});
afterEach(async () => {
  await pool.end();
  await fixture.close();
});

const many = (n: number): Promise<unknown> =>
  fixture.work.run(fixture.city, 'tester', async (w) => {
    for (let i = 0; i < n; i++) await w.create({ rig: '', title: `work ${i}`, metadata: { 'gc.routed_to': 'web/polecat' } });
  });
const waiting = async (): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(fixture.db);
  return rows[0]!.n;
};

describe('two processes that claim', () => {
  it('never give one bead to two, and leave none behind', async () => {
    await many(120);
    const answers = await Promise.all(Array.from({ length: 140 }, (_, i) => (i % 2 === 0 ? a : b).next(`web/polecat-${i}`)));
    const ids = answers.flatMap((answer) => answer.bead_id ?? []);
    expect(ids).toHaveLength(120);
    expect(new Set(ids).size).toBe(120);
    const { rows } = await sql`
      select b.id from beads b where b.status <> 'in_progress' or b.claim_fence <> 1 or b.revision <> 2 or 1 <> (
        select count(*) from events e where e.type = 'bead.updated' and e.subject = b.id and e.actor = b.assignee)`.execute(fixture.db);
    expect(rows).toEqual([]);
  });

  it('have one winner of a bead; every loser is told who, and recorded once', async () => {
    await many(10);
    const asks = Array.from({ length: 60 }, (_, i) => ({ id: `al-${(i % 10) + 1}`, who: `worker-${i}`, at: i % 2 === 0 ? a : b }));
    const settled = await Promise.allSettled(asks.map(({ id, who, at }) => at.claim(id, { assignee: who })));
    expect(settled.filter((s) => s.status === 'fulfilled')).toHaveLength(10);
    const { rows } = await sql<{ id: string; assignee: string }>`select id, assignee from beads`.execute(fixture.db);
    const owner = new Map(rows.map((row) => [row.id, row.assignee]));
    const rejected = (await fixture.events()).filter((e) => e.type === 'bead.claim_rejected');
    expect(rejected).toHaveLength(50);
    for (const [i, { id, who }] of asks.entries()) {
      if (owner.get(id) === who) continue;
      expect(settled[i]).toMatchObject({ reason: { detail: `conflict: bead ${id} is owned by ${owner.get(id)}` } });
      expect(rejected.filter((e) => e.actor === who)).toMatchObject([
        { subject: id, payload: { bead_id: id, existing_claimant: owner.get(id), attempted_claimant: who } },
      ]);
    }
  });

  it('agree with closes that come at the same time', async () => {
    await many(40);
    const other = fixture.another();
    const ids = Array.from({ length: 40 }, (_, i) => `al-${i + 1}`);
    const [claims] = await Promise.all([
      Promise.allSettled(ids.map((id, i) => (i % 2 === 0 ? a : b).claim(id, { assignee: `w-${id}` }))),
      Promise.all(ids.map((id) => other.run(fixture.city, 'closer', (w) => w.close(id)))),
    ]);
    const events = await fixture.events();
    for (const [i, id] of ids.entries()) {
      const claimed = claims[i]!.status === 'fulfilled';
      if (!claimed) expect(claims[i]).toMatchObject({ reason: { problem: 'wrong_state', detail: `conflict: bead ${id} is closed` } });
      expect(events.filter((e) => e.subject === id).map((e) => e.type)).toEqual(
        claimed ? ['bead.created', 'bead.updated', 'bead.closed'] : ['bead.created', 'bead.closed'],
      );
    }
  });
});

describe('a heartbeat for a lease that has ended', () => {
  const POOL = 'web/polecat';
  /** A bead of one session, whose lease has ended, and which a heartbeat that is not yet committed extends; then another session claims. */
  async function crossed<T>(claim: (id: string) => Promise<T>): Promise<{ claimed: PromiseSettledResult<T>; id: string; fence: number }> {
    await many(1);
    const { bead_id: id, fence } = await a.next({ agent: POOL, session: 's-1' });
    await sql`update beads set lease_until = now() - interval '1 second' where id = ${id!}`.execute(fixture.db);
    const beating = await fixture.pool.connect();
    await beating.query('begin');
    await beating.query(`update beads set lease_until = clock_timestamp() + interval '1 hour' where id = $1 and claim_fence = $2`, [
      id,
      fence,
    ]);
    const settled = Promise.allSettled([claim(id!)]);
    await eventually(async () => (await waiting()) === 1);
    await beating.query('commit');
    beating.release();
    return { claimed: (await settled)[0], id: id!, fence: fence! };
  }

  // Guard: what a session was told about its claim stays true.
  it('that is answered keeps the bead from another session', async () => {
    const named = await crossed((id) => b.claim(id, { assignee: POOL, session_id: 's-2' }));
    expect(named.claimed).toMatchObject({ status: 'rejected', reason: { detail: `conflict: bead ${named.id} is owned by ${POOL}` } });
    const beat = { assignee: POOL, fence: named.fence };
    expect(await a.claims.heartbeat(fixture.city, named.id, beat)).toMatchObject({ fence: named.fence });
    await fixture.work.run(fixture.city, 'tester', (w) => w.close(named.id));
    const next = await crossed(() => b.next({ agent: POOL, session: 's-2' }));
    expect(next.claimed).toMatchObject({ status: 'fulfilled', value: { action: 'drain' } });
    expect(await a.claims.heartbeat(fixture.city, next.id, { assignee: POOL, fence: next.fence })).toMatchObject({ fence: next.fence });
  });

  it('that comes after a takeover is refused', async () => {
    await many(1);
    const { bead_id: id, fence } = await a.next({ agent: POOL, session: 's-1' });
    await sql`update beads set lease_until = now() - interval '1 second' where id = ${id!}`.execute(fixture.db);
    expect(await b.next({ agent: POOL, session: 's-2' })).toMatchObject({ bead_id: id, fence: fence! + 1 });
    await expect(a.claims.heartbeat(fixture.city, id!, { assignee: POOL, fence: fence! })).rejects.toMatchObject({
      problem: 'owned_by_other',
    });
  });
});

/**
 * Both processes are brought to the point where they write what they have chosen, which is held by a lock on the first
 * bead's row; then it is let go. What the guards do is seen by taking them out.
 */
describe('the guards of a claim', () => {
  const WITHOUT_LOCK = `create or replace function begin_work(p_stream integer) returns boolean language sql as 'select true'`;
  const withoutCondition = sql`
    do $$ begin execute replace(pg_get_functiondef('claim_work(text,jsonb)'::regprocedure), 'and b.revision = t.revision', ''); end $$`;

  async function race(): Promise<PromiseSettledResult<string | undefined>[]> {
    await many(2);
    const holder = await fixture.pool.connect();
    await holder.query(`begin; select from beads where id = 'al-1' for update`);
    const claims = [a.next('web/polecat-1'), b.next('web/polecat-2')].map((claim) => claim.then((answer) => answer.bead_id));
    const settled = Promise.allSettled(claims);
    await eventually(async () => (await waiting()) === 2);
    await holder.query('commit');
    holder.release();
    return settled;
  }

  it('are a lock, behind which the second process sees what the first has taken', async () => {
    const settled = await race();
    expect(settled.map((s) => (s.status === 'fulfilled' ? s.value : s.reason)).sort()).toEqual(['al-1', 'al-2']);
  });

  it('are a condition, by which the second process fails and nothing is taken twice', async () => {
    await sql.raw(WITHOUT_LOCK).execute(fixture.db);
    const settled = await race();
    expect(settled.filter((s) => s.status === 'fulfilled')).toMatchObject([{ value: 'al-1' }]);
    expect(settled.filter((s) => s.status === 'rejected')).toMatchObject([{ reason: { code: '40001' } }]);
    expect((await fixture.events()).filter((e) => e.type === 'bead.updated')).toHaveLength(1);
  });

  it('are needed: without both one bead goes to two', async () => {
    await sql.raw(WITHOUT_LOCK).execute(fixture.db);
    await withoutCondition.execute(fixture.db);
    const settled = await race();
    expect(settled.map((s) => (s.status === 'fulfilled' ? s.value : s.reason))).toEqual(['al-1', 'al-1']);
  });
});
