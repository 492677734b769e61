import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../../test/support/sse.js';
import { sessionFixture, type SessionFixture } from '../../../sessions/messages/testing/session-fixture.js';
import { BindingsRepository } from '../bindings/bindings.repository.js';
import { BindingsService } from '../bindings/bindings.service.js';
import type { Targets } from '../bindings/targets.service.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import { GroupsRepository } from '../groups/groups.repository.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';
import { SessionEndings } from './session-endings.js';

let fixture: SessionFixture;
beforeEach(async () => {
  fixture = await sessionFixture();
  const { db, a } = fixture;
  const [conversations, bindings, memberships] = [new ConversationsRepository(), new BindingsRepository(), new MembershipsRepository()];
  const binding = new BindingsService(db, a.sessions, {} as Targets, conversations, bindings, memberships, new DeliveriesRepository());
  const endings = new SessionEndings(
    a.sessions,
    conversations,
    bindings,
    binding,
    new GroupsRepository(),
    memberships,
    new DeliveriesRepository(),
  );
  endings.onModuleInit();
});
afterEach(() => fixture.stop());

async function bound(id: string, sessionPk: number): Promise<void> {
  await sql`
    with c as (
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      values (${fixture.city.streamId}, ${Buffer.from(id)}, 's', 'slack', 'default', ${id}, '', 'room') returning pk, stream_id)
    insert into extmsg_bindings (stream_id, conversation_pk, id, session_pk, session_id, generation)
    select stream_id, pk, ${id}, ${sessionPk}, ${id}, 1 from c`.execute(fixture.db);
}
const free = async (): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select conversation_id as id from extmsg_conversations order by pk for no key update skip locked`.execute(fixture.db);
  return rows.map(({ id }) => id);
};

// Guard: the conversations of all of them are locked in one order, which is that of everybody who has several.
it('of sessions that end together has their conversations in the order of their numbers', async () => {
  const [one, two] = [await fixture.session('asleep'), await fixture.session('asleep')];
  await bound('first', two.pk);
  await bound('second', one.pk);
  const { ending } = await fixture.db.transaction().execute(async (tx) => {
    await sql`select from extmsg_conversations where conversation_id = 'first' for no key update`.execute(tx);
    const ending = fixture.a.sessions.runInAnyState(fixture.city, 'tester', async (changes) => {
      const pks = [one.pk, two.pk];
      await changes.lockAll(pks, pks);
      for (const pk of pks) await changes.close((await changes.lock(pk))!, 'operator');
    });
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => (await waiting.execute(fixture.db)).rows.length > 0);
    expect(await free()).toEqual(['second']);
    return { ending };
  });
  await ending;
  const { rows } = await sql`select status from extmsg_bindings order by pk`.execute(fixture.db);
  expect(rows).toEqual([{ status: 'ended' }, { status: 'ended' }]);
});

// Guard: a name keeps its conversations where its session is followed by another one.
it('of a session that is followed by the next one of its name has its conversations go to that one', async () => {
  const [before, after] = [await fixture.session('asleep'), await fixture.session('asleep')];
  await bound('first', before.pk);
  const left = await fixture.a.sessions.runInAnyState(fixture.city, 'tester', async (changes) => {
    await changes.lockAll([before.pk], [before.pk]);
    const [row, next] = [(await changes.lock(before.pk))!, (await changes.lock(after.pk))!];
    const has = [await changes.leaves(row), await changes.leaves(next)];
    await changes.replace(row, next);
    await changes.close(row, 'reconfigured');
    return has;
  });
  expect(left).toEqual([true, false]);
  const { rows } = await sql`select session_pk, status from extmsg_bindings`.execute(fixture.db);
  expect(rows).toEqual([{ session_pk: after.pk, status: 'active' }]);
});
