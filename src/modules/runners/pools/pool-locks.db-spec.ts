import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
beforeEach(async () => {
  fixture = await poolFixture();
});
afterEach(() => fixture.stop());

const waits = async (): Promise<boolean> => {
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return (await waiting.execute(fixture.db)).rows.length > 0;
};

/** Two of a city that is gone: a pass ends both, the older one first. */
async function leaving(): Promise<{ pks: number[]; names: string[] }> {
  const pks = [(await fixture.session('asleep')).pk, (await fixture.session('asleep')).pk];
  const names = ['older', 'younger'];
  await sql`insert into session_names (stream_id, name, kind, session_pk)
    select ${fixture.city.streamId}, name, 'alias', pk from unnest(${names}::text[], ${pks}::bigint[]) as n (name, pk)`.execute(fixture.db);
  await sql`delete from cities`.execute(fixture.db);
  return { pks, names };
}

describe('a pass that ends several sessions', () => {
  // Guard: sessions are locked before the names that another session may be about to take: that one's row may be the next.
  it('has all of them before it gives up a name', async () => {
    const { pks, names } = await leaving();
    const { passing } = await fixture.within(pks[1]!, async () => {
      const passing = fixture.pass();
      await eventually(waits);
      const free = await sql<{
        name: string;
      }>`select name from session_names where kind = 'alias' order by session_pk for update skip locked`.execute(fixture.db);
      expect(free.rows.map(({ name }) => name)).toEqual(names);
      return { passing };
    });
    expect((await passing).map((one) => one.do)).toEqual(['close', 'close']);
    expect(await fixture.open()).toEqual([]);
  });

  // Guard: what they have of other rooms is locked together, in the order of those.
  it('says which before it ends the first', async () => {
    const { pks } = await leaving();
    const told: (readonly number[])[] = [];
    const states: string[] = [];
    fixture.a.sessions.onEnding(async (changes, ending) => {
      told.push(ending);
      for (const pk of ending) states.push((await changes.lock(pk))!.state);
    });
    await fixture.pass();
    expect({ told, states }).toEqual({ told: [pks], states: ['asleep', 'asleep'] });
  });
});

// Guard: whoever makes a session of that name has the names of the city, and waits for the end of the one that had it.
it('a pass has the names of the city before it gives up one and gives another', async () => {
  const { city, db } = fixture;
  const bead = await fixture.bead();
  await fixture.pass();
  const [session] = await fixture.open();
  const claim = { agent: 'worker-1', names: [session!.id], lease_ms: 600_000, stamps: { 'gc.session_id': session!.id } };
  await fixture.claimsSql.claim('alpha', [JSON.stringify(claim)], '[]');
  await fixture.work.run(city, 'worker-1', (work) => work.close(bead));
  await fixture.ready(session!.pk, 60_000);
  await fixture.pass();
  await fixture.obey();
  await fixture.bead();
  const { passing } = await fixture.a.sessions.run(city, 'other', async (changes) => {
    await changes.lockNames();
    const passing = fixture.pass();
    await eventually(waits);
    const free = await sql<{ name: string }>`select name from session_names where name = 'worker-1' for update skip locked`.execute(db);
    expect(free.rows).toHaveLength(1);
    return { passing };
  });
  expect((await passing).map((one) => one.do)).toEqual(['close', 'create']);
});

// Guard: it may have the name of that session, and whoever ends the session waits for its name with the session's row.
it('a pass waits for no session that somebody else has made for a name meanwhile', async () => {
  fixture.config.named_sessions.push({ name: 'boss', qualified_name: 'boss', template: 'worker', dir: '', mode: 'on_demand' });
  const executor = fixture.one.pass['executor'];
  const made = await fixture.b.sessions.run(fixture.city, 'other', (changes) =>
    executor['named'].materialize(changes, fixture.config, 'boss', {}),
  );
  const { carrying } = await fixture.within(made.pk, async () => {
    let isOver = false;
    const carrying = fixture.a.sessions
      .runInAnyState(fixture.city, 'pool', (changes) =>
        executor.carryOut(
          { changes, config: fixture.config, planned: new Map(), now: Date.now(), isCurrent: () => Promise.resolve(true) },
          { do: 'materialize', identity: 'boss', why: 'work', bead: 'al-9' },
        ),
      )
      .finally(() => (isOver = true));
    await eventually(async () => isOver || (await waits()));
    expect(isOver).toBe(true);
    return { carrying };
  });
  expect(await carrying).toBe('done');
});
