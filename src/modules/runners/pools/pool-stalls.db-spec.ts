import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { agentConfig, poolRealm, type PoolRealm } from './testing/pool-realm.js';

let realm: PoolRealm;
let pk: number;
let id: string;
beforeEach(async () => {
  realm = await poolRealm();
  realm.config.agents.push(agentConfig('boss'));
  Object.assign(realm.config, { session: { progress_stall_timeout: '10m' } });
  ({ pk, id } = await realm.session('active', { agent: 'boss', template: 'boss', agent_name: 'boss' }));
  await realm.ready(pk, 20 * 60_000);
});
afterEach(() => realm.stop());

const inTurn = (outputMinutesAgo: number | null): Promise<unknown> =>
  sql`update session_logs set activity = 'in-turn', last_output_at = now() - ${outputMinutesAgo}::int * interval '1 minute'
    where session_pk = ${pk}`.execute(realm.db);

it('a session that is alive, in a turn, and says nothing for too long is ended, and this is told', async () => {
  await inTurn(null);
  expect(await realm.pass()).toEqual([{ do: 'kill', pk, reason: 'stalled' }]);
  expect(await realm.row(pk)).toMatchObject({ stop_request: 'kill', stop_reason: 'stalled' });
  expect((await realm.events()).filter(({ type }) => type === 'session.stalled')).toMatchObject([{ subject: id }]);
  expect(await realm.settle()).toEqual([]);
});

it('one that says something is not, however long its turn', async () => {
  await inTurn(1);
  expect(await realm.pass()).toEqual([]);
  expect(await realm.row(pk)).toMatchObject({ stop_request: null });
});
