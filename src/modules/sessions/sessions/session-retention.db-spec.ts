import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionRetention } from './session-retention.service.js';

let fixture: SessionFixture;
let repository: SessionDeletionsRepository;
let retention: SessionRetention;
beforeEach(async () => {
  fixture = await sessionFixture();
  repository = new SessionDeletionsRepository(fixture.db);
  Object.assign(repository, { step: 10, steps: 2 });
  retention = new SessionRetention(repository, new AppLogger(createLogger('silent')));
});
afterEach(() => fixture.stop());

const waits = async (): Promise<boolean> => {
  const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    fixture.db,
  );
  return rows.length > 0;
};
/** A closed session in which so much was said. */
const said = async (entries: number, pending = true): Promise<number> => {
  const { pk } = await fixture.session('closed');
  await sql`
    insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
    select ${pk}::bigint, n, n, 'e' || n, 1, 1, 1, 'message', 'user', 'final', '[]' from generate_series(1, ${entries}::int) n`.execute(
    fixture.db,
  );
  await sql`update sessions set delete_pending = ${pending}, closed_at = now() - interval '1 day' where pk = ${pk}`.execute(fixture.db);
  return pk;
};
const left = async (): Promise<Record<number, number>> => {
  const { rows } = await sql<{ pk: number; n: number }>`
    select s.pk, (select count(*)::int from session_entries e where e.session_pk = s.pk) as n from sessions s order by s.pk`.execute(
    fixture.db,
  );
  return Object.fromEntries(rows.map(({ pk, n }) => [pk, n]));
};

describe('a session that is to be deleted', () => {
  it('removes a long transcript in steps, and those behind it meanwhile', async () => {
    const [long, short] = [await said(45), await said(3)];
    const kept = await said(3, false);
    expect(await retention.sweep()).toBe(1);
    expect(await left()).toEqual({ [long]: 25, [kept]: 3 });
    // Who reads on meanwhile has the beginning.
    expect((await sql`select max(seq)::int as last from session_entries where session_pk = ${long}`.execute(fixture.db)).rows).toEqual([
      { last: 25 },
    ]);
    expect(await retention.sweep()).toBe(0);
    expect(await left()).toEqual({ [long]: 5, [kept]: 3 });
    expect(await retention.sweep()).toBe(1);
    expect(await left()).toEqual({ [kept]: 3 });
    expect(await repository.delete(short)).toBe(true);
    expect(await repository.delete(kept)).toBe(false);
    expect(await left()).toEqual({ [kept]: 3 });
  });

  it('keeps the record while more is left than one statement removes', async () => {
    const pk = await said(45);
    const other = new SessionDeletionsRepository(fixture.db);
    Object.assign(other, { step: 20, steps: 1 });
    // Another worker is at the last of them: what this one removes before that is less than a step.
    const { second } = await fixture.db.transaction().execute(async (tx) => {
      await sql`delete from session_entries where session_pk = ${pk} and seq > 30`.execute(tx);
      const second = other.delete(pk);
      await eventually(waits);
      return { second };
    });
    expect(await second).toBe(false);
    expect(await left()).toEqual({ [pk]: 25 });
  });

  it('goes on behind one that cannot be deleted', async () => {
    const pks = [await said(1), await said(1), await said(1)];
    const own = repository.delete.bind(repository);
    repository.delete = (pk) => (pk === pks[0] ? Promise.reject(new Error('it takes too long')) : own(pk));
    expect(await retention.sweep()).toBe(2);
    expect(Object.keys(await left())).toEqual([String(pks[0])]);
  });

  // Guard: a look at what can only be done later, every two seconds.
  it('is looked at no more while its city is stopped and it holds something, once nothing is left of what was said', async () => {
    const pk = await said(3);
    const isDue = async (): Promise<boolean> =>
      (await sql<{ due: boolean }>`select ${repository.isDue} as due`.execute(fixture.db)).rows[0]!.due;
    const running = (is: boolean) => sql`update cities set running = ${is}`.execute(fixture.db);
    await sql`insert into beads (stream_id, id, title, assignee)
      select stream_id, 'al-900', 'held', id from sessions where pk = ${pk}`.execute(fixture.db);
    await running(false);
    expect([await isDue(), await retention.sweep(), await left()]).toEqual([true, 0, { [pk]: 0 }]);
    expect([await isDue(), await repository.pending(10)]).toEqual([false, []]);
    await running(true);
    expect([await isDue(), await repository.pending(10)]).toEqual([true, [pk]]);
    await running(false);
    await sql`update beads set assignee = null`.execute(fixture.db);
    expect([await isDue(), await retention.sweep(), await left()]).toEqual([true, 1, {}]);
  });

  it('has its city looked at again as long as it holds something, also where that is known', async () => {
    const pk = await said(0);
    await sql`insert into beads (stream_id, id, title, assignee)
      select stream_id, 'al-900', 'held', id from sessions where pk = ${pk}`.execute(fixture.db);
    await sql`update sessions set holds_more = true where pk = ${pk}`.execute(fixture.db);
    await sql`insert into city_pools (stream_id, head) values (${fixture.city.streamId}, 0)`.execute(fixture.db);
    const next = async (running: boolean): Promise<Date | null> => {
      await sql`update city_pools set next_at = null`.execute(fixture.db);
      await sql`update cities set running = ${running}`.execute(fixture.db);
      expect(await repository.delete(pk)).toBe(false);
      return (await sql<{ next_at: Date | null }>`select next_at from city_pools`.execute(fixture.db)).rows[0]!.next_at;
    };
    expect([await next(true), await next(false)]).toEqual([expect.any(Date), null]);
  });

  it('is no reason for the retention of a city to fail', async () => {
    const pks = [await said(1, false), await said(1, false)];
    const own = repository.delete.bind(repository);
    repository.delete = (pk) => (pk === pks[0] ? Promise.reject(new Error('it takes too long')) : own(pk));
    expect(await retention.prune(fixture.city.streamId, 3_600_000, 10)).toEqual({ marked: 2, gone: 1 });
    expect(await left()).toEqual({ [pks[0]!]: 1 });
  });
});
