import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
beforeEach(async () => {
  fixture = await poolFixture();
  fixture.config.agents.push(agentConfig('other'));
  name('worker');
});
afterEach(() => fixture.stop());

/** The name `front` stands for this agent from now on. */
function name(template: string): void {
  const front = { qualified_name: 'front', name: 'front', dir: '', binding: '', template, mode: 'always' };
  fixture.config.named_sessions = [front] as never;
}
const front = async (): Promise<SessionRow> => {
  const [row, ...more] = await fixture.open();
  expect(more).toEqual([]);
  return row!;
};

it('a name that stands for another agent gets a session of that one, after the turn of the old one', async () => {
  await fixture.pass();
  const old = await front();
  expect(old).toMatchObject({ agent: 'worker', alias: 'front', named_identity: 'front' });
  await fixture.ready(old.pk);
  await sql`update session_logs set activity = 'in-turn' where session_pk = ${old.pk}`.execute(fixture.db);
  name('other');
  expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: old.pk, reason: 'reconfigured' }]);
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'draining', runner_id: 'r1', stop_reason: 'reconfigured' });
  await fixture.obey();
  expect((await fixture.pass()).map((one) => one.do)).toEqual(['close', 'materialize']);
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  expect(await front()).toMatchObject({
    agent: 'other',
    template: 'other',
    alias: 'front',
    named_identity: 'front',
    wake_request: 'named',
  });
  expect(await fixture.settle()).toEqual([]);
});

it('what the old one holds is given back', async () => {
  await fixture.pass();
  const old = await front();
  const bead = await fixture.bead({});
  const held = JSON.stringify({ 'gc.session_id': old.id });
  await sql`update beads set status = 'in_progress', assignee = 'front', metadata = ${held}::jsonb where id = ${bead}`.execute(fixture.db);
  await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
  name('other');
  await fixture.settle();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  expect(await status(bead)).toBe('open');
  expect(await front()).toMatchObject({ agent: 'other' });
});

async function status(bead: string): Promise<string> {
  return (await sql<{ status: string }>`select status from beads where id = ${bead}`.execute(fixture.db)).rows[0]!.status;
}
