import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import { eventually } from '../../../../test/support/sse.js';

let fixture: ConfigFixture;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
});
afterEach(() => fixture.close());

const PLAN = `update config_edits set plan = '{"id":"edit","writes":[],"removals":[]}', expires_at = now() - interval '1 second'`;

/** An edit that breaks off once it has written. */
async function broken(): Promise<unknown> {
  fixture.a.failpoints.arm('config.after_write', () => {
    throw new Error('stop');
  });
  return fixture.a.setVariable(fixture.city, 'BROKEN').catch(() => undefined);
}
/** One whose process has died. */
async function abandoned(): Promise<unknown> {
  await fixture.sql(
    `insert into config_edits (stream_id, id, owner, expires_at, dir) values (${fixture.city.streamId}, 'edit', 'dead', now(), '/x')`,
  );
  await fixture.sql(PLAN);
  return fixture.a.recovery.recover(fixture.city.streamId);
}

// Guard: a commit has the state of the city's configuration when it ends its edit, so nobody has the edit and waits for the state.
it.each([
  ['that breaks off', broken],
  ['whose process has died', abandoned],
])('takes an edit %s back behind the state of the configuration', async (_which, takenBack) => {
  const { a, b, city } = fixture;
  const { taking } = await b.db.transaction().execute(async (tx) => {
    await sql`select from config_states where stream_id = ${city.streamId} for update`.execute(tx);
    const taking = takenBack();
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => (await waiting.execute(b.db)).rows.length > 0);
    const free = await sql`select from config_edits where stream_id = ${city.streamId} for update skip locked`.execute(b.db);
    expect(free.rows).toHaveLength(1);
    return { taking };
  });
  await taking;
  a.failpoints.disarm();
  expect(await fixture.sql('select 1 from config_edits')).toEqual([]);
});
