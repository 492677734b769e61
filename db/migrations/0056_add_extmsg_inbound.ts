import { sql, type Kysely } from 'kysely';

/**
 * A message from outside in two calls, whose statements are planned once a connection: all that it takes to say who is told, read under
 * the lock of the conversation; and the entry with who is to be told of it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function extmsg_look(p_stream integer, p_key bytea, p_once text) returns jsonb language plpgsql as $$
    declare
      v_at extmsg_conversations;
      v_running boolean;
      v_known jsonb;
    begin
      select * into v_at from extmsg_conversations where stream_id = p_stream and key = p_key for no key update;
      -- Whatever is read from here on is as it is under the lock.
      v_running := exists (select from cities c join config_states s on s.stream_id = c.stream_id and s.revision > 0
        where c.stream_id = p_stream and c.running);
      if v_at.pk is null then return jsonb_build_object('running', v_running); end if;
      if p_once <> '' then
        select to_jsonb(e) into v_known from extmsg_entries e where e.conversation_pk = v_at.pk and e.once_key = p_once and e.once_key <> '';
      end if;
      return jsonb_build_object(
        'running', v_running,
        'at', to_jsonb(v_at) - 'key',
        'known', v_known,
        'binding', (select to_jsonb(b) from extmsg_bindings b where b.conversation_pk = v_at.pk and b.status = 'active'),
        'overdue', exists (select from extmsg_bindings b where b.conversation_pk = v_at.pk and b.status = 'active' and b.expires_at <= clock_timestamp()),
        'group', (select to_jsonb(g) from extmsg_groups g where g.conversation_pk = v_at.pk),
        'participants', (select coalesce(jsonb_agg(to_jsonb(p) order by p.handle), '[]') from extmsg_participants p
          join extmsg_groups g on g.pk = p.group_pk where g.conversation_pk = v_at.pk and p.closed_at is null),
        'members', (select coalesce(jsonb_agg(to_jsonb(m) order by m.selector collate "C"), '[]') from extmsg_memberships m
          where m.conversation_pk = v_at.pk and m.closed_at is null));
    end $$`.execute(db);
  await sql`
    create function extmsg_take(p_stream integer, p_conversation bigint, p_entry jsonb, p_deliveries jsonb)
      returns table (o_sequence bigint, o_created_at timestamptz) language plpgsql as $$
    begin
      update extmsg_conversations set head = head + 1 where pk = p_conversation returning head into o_sequence;
      insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
        reply_to_message_id, attachments, source_session_id, route)
      select p_conversation, o_sequence, e.id, e.kind, e.provider_message_id, e.once_key, e.actor, e.text, e.explicit_target,
        e.reply_to_message_id, e.attachments, e.source_session_id, e.route
      from jsonb_to_record(p_entry) as e (id text, kind text, provider_message_id text, once_key text, actor jsonb, text text,
        explicit_target text, reply_to_message_id text, attachments jsonb, source_session_id text, route jsonb)
      returning created_at into o_created_at;
      insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, deadline)
      select p_stream, p_conversation, d.id, 'inbound', o_sequence, d.selector, d.session_pk, d.body, clock_timestamp() + interval '24 hours'
      from jsonb_to_recordset(p_deliveries) as d (id text, selector text, session_pk bigint, body text)
      on conflict do nothing;
      return next;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function extmsg_take(integer, bigint, jsonb, jsonb)`.execute(db);
  await sql`drop function extmsg_look(integer, bytea, text)`.execute(db);
}
