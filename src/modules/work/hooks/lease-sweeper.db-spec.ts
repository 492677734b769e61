import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createPool, type PgPool } from '../../../platform/database/database.js';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ClaimsRepository } from './claims.repository.js';
import { LeaseRepository } from './lease.repository.js';
import { hookProcess, type HookProcess } from './testing/hook-process.js';

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
const end = (where = sql`true`): Promise<unknown> =>
  sql`update beads set lease_until = now() - interval '1 second' where lease_until is not null and ${where}`.execute(fixture.db);
const reopened = async () => (await fixture.events()).filter((e) => e.type === 'bead.dead_assignee_reopened');
const waiting = async (): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(fixture.db);
  return rows[0]!.n;
};

describe('a lease that has ended', () => {
  it('is taken back with two events, and the bead is offered again', async () => {
    await many(2);
    const { fence } = await a.next({ agent: 'web/polecat-1', session: 's-1', work_branch: 'b' });
    await a.claim('al-2', { assignee: 'mayor' });
    const at = (await fixture.events()).length;
    expect(await a.sweeper.sweep()).toBe(0);
    await end(sql`id = 'al-1'`);
    expect(await a.sweeper.sweep()).toBe(1);
    const { rows } = await sql`
      select type, actor, subject, session_id, message, payload from events where seq > ${at} order by seq`.execute(fixture.db);
    expect(rows).toMatchObject([
      {
        type: 'bead.updated',
        actor: 'reconciler',
        subject: 'al-1',
        session_id: null,
        payload: { bead: { status: 'open', metadata: { 'gc.routed_to': 'web/polecat', 'gc.work_branch': 'b' } } },
      },
      {
        type: 'bead.dead_assignee_reopened',
        actor: 'reconciler',
        subject: 'al-1',
        session_id: 's-1',
        message: 'the lease of web/polecat-1 ended; the bead is open again',
        payload: { bead_id: 'al-1', dead_assignee: 'web/polecat-1', routed_to: 'web/polecat' },
      },
    ]);
    await expect(a.claims.heartbeat(fixture.city, 'al-1', { assignee: 'web/polecat-1', fence: fence! })).rejects.toMatchObject({
      problem: 'owned_by_other',
    });
    expect(await b.next('web/polecat-2')).toMatchObject({ bead_id: 'al-1', fence: fence! + 2 });
    await expect(a.claims.heartbeat(fixture.city, 'al-1', { assignee: 'web/polecat-2', fence: fence! })).rejects.toThrow('claimed anew');
  });

  it('is taken back once by two workers, in batches', async () => {
    await many(230);
    await Promise.all(Array.from({ length: 230 }, (_, i) => a.next(`web/polecat-${i}`)));
    await end();
    const taken = await Promise.all([a.sweeper.sweep(), b.sweeper.sweep()]);
    expect(taken[0]! + taken[1]!).toBe(230);
    expect(new Set((await reopened()).map((e) => e.subject)).size).toBe(230);
    expect(await reopened()).toHaveLength(230);
  });

  // Guard: leases of sessions are extended every half minute, and may be as short as a second.
  it('is extended as long as its session has a process', async () => {
    await many(2);
    await sql`insert into runners (id, process_id, host, capacity, state, lease_until) values ('r', 'p', 'h', 0, 'active', now())`.execute(
      fixture.db,
    );
    await sql`insert into sessions (stream_id, id, session_name, title, kind, template, provider, origin, created_by, state, runner_id, live)
      values (${fixture.city.streamId}, 's-1', 's-1', '', 'agent', 'polecat', 'x', 'manual', 'test', 'active', 'r', true)`.execute(
      fixture.db,
    );
    const { bead_id, fence } = await a.next({ agent: 'web/polecat-1', session: 's-1' });
    await a.next({ agent: 'web/polecat-2', session: 's-2' });
    await end();
    expect(await a.sweeper.sweep()).toBe(1);
    await a.claims.heartbeat(fixture.city, bead_id!, { assignee: 'web/polecat-1', fence: fence! });
    await sql`update sessions set live = false, runner_id = null`.execute(fixture.db);
    await end();
    expect(await a.sweeper.sweep()).toBe(1);
  });

  it('stays while the city does not run', async () => {
    await many(1);
    await a.next('web/polecat');
    await end();
    await sql`update cities set running = false`.execute(fixture.db);
    expect(await a.sweeper.sweep()).toBe(0);
    await sql`update cities set running = true`.execute(fixture.db);
    expect(await a.sweeper.sweep()).toBe(1);
  });

  // Guard: what has been due for long in cities that do not run is read every half minute, and not each second (`foundNothing`).
  it('is passed over at the next look when it is of a city that does not run', async () => {
    await many(2);
    await a.next('web/polecat');
    await sql`update beads set lease_until = now() - interval '1 hour' where lease_until is not null`.execute(fixture.db);
    await sql`update cities set running = false`.execute(fixture.db);
    const leases = new LeaseRepository(fixture.db);
    const isDue = async (of = leases) => (await sql<{ due: boolean | null }>`select ${of.isDue} as due`.execute(fixture.db)).rows[0]!.due;
    expect(await isDue()).toBe(true);
    expect(await leases.due()).toEqual([]);
    expect(await isDue()).toBeNull();
    await sql`update cities set running = true`.execute(fixture.db);
    expect([await isDue(), await leases.due()]).toEqual([null, []]);
    // What ends now is seen at once, and whoever looks at all again has the rest.
    await a.next('web/polecat-2');
    await end(sql`id = 'al-2'`);
    expect([await isDue(), (await leases.due()).length]).toEqual([true, 1]);
    const anew = new LeaseRepository(fixture.db);
    expect([await isDue(anew), (await anew.due()).length]).toEqual([true, 1]);
  });
});

describe('a heartbeat and a sweeper at once', () => {
  // Guard: the sweeper locks the rows it has chosen and looks again once it has them (`for update`).
  it('leave the bead to its owner when the heartbeat came first', async () => {
    await many(1);
    const { fence } = await a.next('web/polecat');
    await end();
    const client = await fixture.pool.connect();
    await client.query('begin');
    const beat = await new ClaimsRepository(client as unknown as PgPool).heartbeat(fixture.city.streamId, 'al-1', 'web/polecat', fence!);
    expect(beat).toMatchObject({ fence });
    const sweep = b.sweeper.sweep();
    await eventually(async () => (await waiting()) === 1);
    await client.query('commit');
    client.release();
    expect(await sweep).toBe(0);
    expect(await a.next('web/polecat')).toMatchObject({ bead_id: 'al-1', reason: 'existing_assignment', fence });
    expect(await reopened()).toEqual([]);
  });

  // Guard: the heartbeat waits for the row and then finds another fence.
  it('refuse the heartbeat when the sweeper came first', async () => {
    await many(1);
    const { fence } = await a.next('web/polecat');
    await end();
    const gate = new HoldingGate();
    fixture.failpoints.arm('tx.before_commit', gate.action());
    const sweep = a.sweeper.sweep();
    await eventually(() => gate.held === 1);
    const beat = b.claims.heartbeat(fixture.city, 'al-1', { assignee: 'web/polecat', fence: fence! }).catch((error: unknown) => error);
    await eventually(async () => (await waiting()) === 1);
    gate.release();
    expect(await sweep).toBe(1);
    expect(await beat).toMatchObject({ problem: 'owned_by_other', detail: 'conflict: bead al-1 is no longer claimed (status: open)' });
  });

  it('agree over many beads whichever comes first', async () => {
    await many(60);
    const claims = await Promise.all(Array.from({ length: 60 }, (_, i) => a.next(`web/polecat-${i}`)));
    await end();
    const [beats] = await Promise.all([
      Promise.allSettled(
        claims.map(({ bead_id, assignee, fence }) => b.claims.heartbeat(fixture.city, bead_id!, { assignee: assignee!, fence: fence! })),
      ),
      a.sweeper.sweep(),
    ]);
    const lost = new Set((await reopened()).map((e) => e.subject));
    for (const [i, { bead_id }] of claims.entries())
      expect([bead_id, beats[i]!.status === 'fulfilled']).toEqual([bead_id, !lost.has(bead_id!)]);
  });
});
