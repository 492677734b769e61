import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../../contract/principal.js';
import { PAGE_BYTES } from '../../../../platform/database/page-bytes.js';
import { sessionFixture, type SessionFixture } from '../../../sessions/messages/testing/session-fixture.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import type { ConversationRef } from '../conversations/conversations.schemas.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import { GroupsRepository } from '../groups/groups.repository.js';
import { GroupsService } from '../groups/groups.service.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';
import { BindingsRepository } from './bindings.repository.js';
import type { ListBodySessionBindingRecord, SessionBindingRecord } from './bindings.schemas.js';
import { BindingsService } from './bindings.service.js';
import { ofSession } from './target.js';
import type { Targets } from './targets.service.js';

let fixture: SessionFixture;
let session: SessionRow;
/** What is found first. */
let looks: SessionRow[];
let bindings: BindingsService;
let groups: GroupsService;

beforeEach(async () => {
  fixture = await sessionFixture();
  session = await fixture.session('asleep');
  const { db, a } = fixture;
  looks = [];
  const known = (): Promise<unknown> => Promise.resolve(ofSession(looks.shift() ?? session));
  const targets = { session: known, known, either: known } as unknown as Targets;
  const [conversations, memberships] = [new ConversationsRepository(), new MembershipsRepository()];
  bindings = new BindingsService(db, a.sessions, targets, conversations, new BindingsRepository(), memberships, new DeliveriesRepository());
  groups = new GroupsService(db, a.sessions, targets, conversations, new GroupsRepository(), memberships);
});
afterEach(() => fixture.stop());

const named = (conversation_id: string): ConversationRef => ({
  ...{ scope_id: 's', provider: 'slack', account_id: 'default', conversation_id, kind: 'room' as const },
});
const bind = (id: string, metadata = {}): Promise<SessionBindingRecord> =>
  bindings.bind(fixture.city, { conversation: named(id), session_id: session.id, metadata }, ANYBODY);
const list = async (cursor?: string): Promise<ListBodySessionBindingRecord> =>
  (await bindings.list(fixture.city, { session_id: session.id, ...(cursor === undefined ? {} : { cursor }) })).value;
const many = (from: number, count: number, value = 'v'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${from + n}`, value]));
const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => error.message,
  );

/** Bindings of the session, as many as are said. */
const filled = async (count: number, metadata: object = {}): Promise<void> => {
  await sql`
    with c as (
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      select ${fixture.city.streamId}, n::text::bytea, 's', 'slack', 'default', n::text, '', 'room' from generate_series(1, ${count}::int) n
      returning pk, stream_id),
    b as (
      insert into extmsg_bindings (stream_id, conversation_pk, id, session_pk, session_id, generation, metadata)
      select stream_id, pk, pk::text, ${session.pk}, ${session.id}, 1, ${JSON.stringify(metadata)}::jsonb from c),
    x as (
      insert into extmsg_contexts (conversation_pk, session_pk, generation, last_message_id, last_published_at)
      select pk, s.n, 1, 'm', now() from c, unnest(array[${session.pk}::bigint, 0]) s(n))
    insert into extmsg_memberships (stream_id, conversation_pk, selector, session_pk, owners, joined_sequence)
    select stream_id, pk, s.id, ${session.pk}, s.owners::text[], 0
    from c, (values (${session.id}, '{binding}'), ('other', '{binding}'), ('both', '{binding,group}')) s(id, owners)`.execute(fixture.db);
};

describe('metadata that comes to what is there', () => {
  const tooMuch = /: metadata may have 64 members at the most, and would have 65 with those that are there$/;

  it('has no more members together than one alone may have', async () => {
    await bind('one', many(0, 60));
    expect(Object.keys((await bind('one', many(56, 8))).Metadata)).toHaveLength(64);
    expect(await refusal(bind('one', { more: 'v' }))).toMatch(tooMuch);
    expect((await bind('one', { k0: 'other' })).Metadata).toMatchObject({ k0: 'other', k63: 'v' });

    const root_conversation = named('group');
    const group = await groups.ensure(fixture.city, { root_conversation, metadata: many(0, 64) }, ANYBODY);
    expect(await refusal(groups.ensure(fixture.city, { root_conversation, metadata: { more: 'v' } }, ANYBODY))).toMatch(tooMuch);
    const upsert = (metadata: Record<string, string>): Promise<unknown> =>
      groups.upsert(fixture.city, { group_id: group.ID, handle: 'dev', session_id: session.id, metadata }, ANYBODY);
    await upsert(many(0, 64));
    expect(await refusal(upsert({ more: 'v' }))).toMatch(tooMuch);
  });

  it('which has more already, from before, keeps it and gets none', async () => {
    await bind('one');
    await sql`update extmsg_bindings set metadata = ${JSON.stringify(many(0, 100))}::jsonb`.execute(fixture.db);
    expect(Object.keys((await bind('one', { k7: 'w' })).Metadata)).toHaveLength(100);
    expect(await refusal(bind('one', { more: 'v' }))).toMatch(/would have 101 /);
  });

  it('ends a page of bindings early, and the answer to who ends them', async () => {
    await filled(70, many(0, 64, 'x'.repeat(1_000)));
    const seen: string[] = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await list(cursor);
      expect(Buffer.byteLength(JSON.stringify(page.items))).toBeLessThan(PAGE_BYTES);
      seen.push(...page.items!.map(({ ID }) => ID));
      cursor = page.next_cursor;
    }
    expect([seen.length, new Set(seen).size]).toEqual([70, 70]);
    const { unbound } = await bindings.unbind(fixture.city, { session_id: session.id }, ANYBODY);
    expect(unbound!.map(({ ID, Status }) => [ID, Status])).toEqual(seen.slice(0, unbound!.length).map((id) => [id, 'ended']));
    expect(Buffer.byteLength(JSON.stringify(unbound))).toBeLessThan(PAGE_BYTES);
    expect((await list()).items).toEqual([]);
  });
});

describe('a session with very many conversations', () => {
  it('gets no more of them, and is rid of all at once', async () => {
    await filled(10_000);
    expect(await refusal(bind('one more'))).toMatch(/^conflict: 10000 conversations are bound to session \S+ already$/);
    expect((await bindings.unbind(fixture.city, { session_id: session.id }, ANYBODY)).unbound).toHaveLength(1_000);
    const { rows } = await sql`
      select (select count(*)::int from extmsg_bindings where status = 'active') as active,
        (select array_agg(distinct session_pk::int) from extmsg_contexts) as contexts,
        (select jsonb_object_agg(selector, n) from (
          select case selector when ${session.id} then 'own' else selector end as selector, count(*) as n
          from extmsg_memberships where closed_at is null group by 1) m) as members`.execute(fixture.db);
    expect(rows).toEqual([{ active: 0, contexts: [0], members: { other: 10_000, both: 10_000 } }]);
    expect((await bind('one more')).Status).toBe('active');
  });
});

describe('a name whose session ends between the look and the lock', () => {
  let next: SessionRow;
  beforeEach(async () => {
    next = await fixture.session('asleep');
    await fixture.close(session.pk);
    // The first look finds it as it was.
    looks = [session, next];
  });

  it('is bound as the next one of that name', async () => {
    const bound = await bindings.bind(fixture.city, { conversation: named('one'), session_id: 'front' }, ANYBODY);
    expect(bound.SessionID).toBe(next.id);
  });

  it('takes part as the next one of that name', async () => {
    const { ID: group_id } = await groups.ensure(fixture.city, { root_conversation: named('group') }, ANYBODY);
    const part = await groups.upsert(fixture.city, { group_id, handle: 'dev', session_id: 'front' }, ANYBODY);
    expect(part.SessionID).toBe(next.id);
  });

  it('is no name where it is the id of the one that has ended', async () => {
    expect(await refusal(bind('one'))).toMatch(/^not_found: session \S+ is closed$/);
  });
});
