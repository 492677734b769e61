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
  const both = [await fixture.session('asleep'), await fixture.session('asleep')];
  await sql`delete from cities`.execute(fixture.db);
  return { pks: both.map(({ pk }) => pk), names: both.map(({ session_name }) => session_name) };
}

describe('a pass that ends several sessions', () => {
  // Guard: sessions are locked before the names that another session may be about to take: that one's row may be the next.
  it('has all of them before it gives up a name', async () => {
    const { pks, names } = await leaving();
    const { passing } = await fixture.within(pks[1]!, async () => {
      const passing = fixture.pass();
      await eventually(waits);
      const free = await sql<{ name: string }>`select name from session_names order by session_pk for update skip locked`.execute(
        fixture.db,
      );
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
