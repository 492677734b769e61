import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../../test/support/sse.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { sessionFixture, type SessionFixture } from '../../../sessions/messages/testing/session-fixture.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { BindingsRepository } from '../bindings/bindings.repository.js';
import { BindingsService } from '../bindings/bindings.service.js';
import type { Targets } from '../bindings/targets.service.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { DeliveriesRepository, type DeliveryRow } from '../deliveries/deliveries.repository.js';
import { MemberDeliveries } from '../deliveries/member-deliveries.js';
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
  new MemberDeliveries(new DeliveriesRepository(), a.queue).onModuleInit();
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
    const has = [await changes.hasForNext(row), await changes.hasForNext(next)];
    await changes.replace(row, next);
    await changes.close(row, 'reconfigured');
    return has;
  });
  expect(left).toEqual([true, false]);
  const { rows } = await sql`select session_pk, status from extmsg_bindings`.execute(fixture.db);
  expect(rows).toEqual([{ session_pk: after.pk, status: 'active' }]);
});

describe('what is in the queue of a session that is followed by the next one of its name', () => {
  const deliveries = new DeliveriesRepository();
  const of = async (id: string): Promise<DeliveryRow> => (await deliveries.byId(fixture.db, fixture.city.streamId, id))!;

  /** d1 is in the queue of the first one, told by its id; d2 waits, of the same entry, for the name. Nobody has a conversation any more. */
  async function queued(): Promise<{ before: SessionRow; after: SessionRow; conversation: number }> {
    const [before, after] = [await fixture.session('asleep'), await fixture.session('asleep')];
    const { streamId } = fixture.city;
    const { rows } = await sql<{ pk: number }>`
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      values (${streamId}, 'k', 's', 'slack', 'default', 'c', '', 'room') returning pk`.execute(fixture.db);
    const conversation = rows[0]!.pk;
    await fixture.within(before.pk, async (changes, row) => {
      const told = { direction: 'inbound', sequence: 1, sessionPk: null, body: 'hello' } as const;
      await deliveries.insert(changes.tx, { pk: conversation, stream_id: streamId }, [
        { ...told, id: 'd1', selector: before.id },
        { ...told, id: 'd2', selector: 'front' },
      ]);
      const { rows } = await sql<{ pk: number }>`select pk from extmsg_deliveries where id = 'd1'`.execute(changes.tx);
      const { message } = await fixture.a.queue.enqueue(changes, row, {
        body: 'hello',
        source: 'external',
        sender: 'extmsg:slack',
        reference: 'd1',
      });
      await deliveries.queued(changes.tx, rows[0]!.pk, row, message.id);
    });
    return { before: await fixture.row(before.pk), after, conversation };
  }
  const handedOver = ({ before, after }: { before: SessionRow; after: SessionRow }): Promise<void> =>
    fixture.a.sessions.runInAnyState(fixture.city, 'tester', async (changes) => {
      await changes.lockAll([before.pk], [before.pk]);
      await changes.replace(before, after);
      await fixture.a.queue.handOver(changes, before, after);
      await changes.close((await changes.lock(before.pk))!, 'reconfigured');
    });

  // Guard: nobody is told twice, and what fails can be tried again for somebody who is there.
  it('is told to that one, whom nobody tells it again', async () => {
    const all = await queued();
    await handedOver(all);
    const { after } = all;
    expect(await of('d1')).toMatchObject({ state: 'queued', selector: after.id, session_pk: after.pk, session_id: after.id });
    const { pk, selector } = await of('d2');
    const again = await fixture.within(after.pk, ({ tx }) => deliveries.lockPending(tx, { pk, selector }, after.pk, 500));
    expect(again).toMatchObject({ told: true, selector: 'front' });
  });

  it('is tried again for that one once it has failed', async () => {
    const all = await queued();
    await handedOver(all);
    const { after, conversation } = all;
    await sql`
      insert into extmsg_memberships (stream_id, conversation_pk, selector, owners, joined_sequence)
      values (${fixture.city.streamId}, ${conversation}, ${after.id}, '{group}', 0)`.execute(fixture.db);
    await fixture.within(after.pk, async (changes, row) => {
      await changes.close(row, 'operator');
    });
    const { pk, state } = await of('d1');
    expect(state).toBe('failed');
    await fixture.db.transaction().execute((tx) => deliveries.again(tx as unknown as Tx, pk, { lifeMs: 60_000, forClientsOf: null }));
    expect(await deliveries.due(fixture.db, 10)).toContainEqual(expect.objectContaining({ id: 'd1', member: true, session_pk: after.pk }));
  });
});
