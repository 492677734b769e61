import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
let pk: number;
let id: string;
beforeEach(async () => {
  fixture = await poolFixture();
  fixture.config.agents.push(agentConfig('boss'));
  Object.assign(fixture.config, { session: { progress_stall_timeout: '10m' } });
  ({ pk, id } = await fixture.session('active', { agent: 'boss', template: 'boss', agent_name: 'boss' }));
  await fixture.ready(pk, 20 * 60_000);
});
afterEach(() => fixture.stop());

const inTurn = (outputMinutesAgo: number | null): Promise<unknown> =>
  sql`update session_logs set activity = 'in-turn', last_output_at = now() - ${outputMinutesAgo}::int * interval '1 minute'
    where session_pk = ${pk}`.execute(fixture.db);

it('a session that is alive, in a turn, and says nothing for too long is ended, and this is told', async () => {
  await inTurn(null);
  expect(await fixture.pass()).toEqual([{ do: 'kill', pk, reason: 'stalled' }]);
  expect(await fixture.row(pk)).toMatchObject({ stop_request: 'kill', stop_reason: 'stalled' });
  expect((await fixture.events()).filter(({ type }) => type === 'session.stalled')).toMatchObject([{ subject: id }]);
  expect(await fixture.settle()).toEqual([]);
});

it('one that says something is not, however long its turn', async () => {
  await inTurn(1);
  expect(await fixture.pass()).toEqual([]);
  expect(await fixture.row(pk)).toMatchObject({ stop_request: null });
});
