import { sql, type Kysely } from 'kysely';

/** Messages from outside of many cities in two calls, as those of one were before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop function extmsg_take(integer, bigint, jsonb, jsonb)`.execute(db);
  await sql`drop function extmsg_look(integer, bytea, text)`.execute(db);
  await sql`
    create function extmsg_look(p_items jsonb, p_wait boolean)
    returns table (o_ord integer, o_found jsonb)
    language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
    declare
      v_locked bigint[];
    begin
      if p_wait then
        select array_agg(c.pk) into v_locked
        from jsonb_to_recordset(p_items) as i(city text, key text)
        cross join lateral (select y.stream_id from cities y where y.name = i.city limit 1) y
        cross join lateral (select n.pk from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex') limit 1 for no key update) c;
      else
        select array_agg(c.pk) into v_locked
        from (select distinct r.city, r.key from jsonb_to_recordset(p_items) as r(city text, key text)) i
        cross join lateral (select y.stream_id from cities y where y.name = i.city limit 1) y
        cross join lateral (select n.pk from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex')
          limit 1 for no key update skip locked) c;
      end if;
      -- Whatever is read from here on is as it is under the locks.
      return query
        select i.nth::integer - 1, jsonb_build_object(
          'running', coalesce(y.running and s.loaded, false),
          'busy', c.pk is not null and not h.held,
          'at', case when h.held then to_jsonb(c) - 'key' end,
          'known', to_jsonb(k),
          'binding', to_jsonb(b),
          'overdue', coalesce(b.expires_at <= clock_timestamp(), false),
          'group', to_jsonb(g),
          'participants', case when g.pk is null then '[]' else (
            select coalesce(jsonb_agg(to_jsonb(p) order by p.handle), '[]') from extmsg_participants p
            where p.group_pk = g.pk and p.closed_at is null) end,
          'members', (select coalesce(jsonb_agg(to_jsonb(m) order by m.selector collate "C"), '[]') from extmsg_memberships m
            where m.conversation_pk = c.pk and m.closed_at is null))
        from rows from (jsonb_to_recordset(p_items) as (city text, key text, once text)) with ordinality as i(city, key, once, nth)
        left join lateral (select n.* from cities n where n.name = i.city limit 1) y on true
        left join lateral (select true as loaded from config_states n where n.stream_id = y.stream_id and n.revision > 0 limit 1) s on true
        left join lateral (select n.* from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex') limit 1) c on true
        cross join lateral (select coalesce(c.pk = any(v_locked), false) as held) h
        left join lateral (
          select n.* from extmsg_entries n where n.conversation_pk = c.pk and n.once_key = i.once and n.once_key <> '' limit 1) k on true
        -- Of what has come before, the binding that it went by.
        left join lateral (
          (select n.* from extmsg_bindings n where k.id is null and n.conversation_pk = c.pk and n.status = 'active' limit 1)
          union all
          (select n.* from extmsg_bindings n where n.pk = (k.route ->> 'binding')::bigint limit 1)) b on true
        left join lateral (select n.* from extmsg_groups n where n.conversation_pk = c.pk limit 1) g on true
        order by i.nth;
    end
    $$`.execute(db);
  await sql`
    create function extmsg_take(p_items jsonb, p_wait boolean)
    returns table (o_ord integer, o_created_at timestamptz, o_head bigint)
    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    declare
      v_city text;
      v_stream integer;
      v_free text[] := '{}';
      v_ords integer[];
      v_times timestamptz[];
      v_cities text[];
      v_events jsonb;
    begin
      if not p_wait then
        for v_city, v_stream in
          select distinct (e ->> 'city') collate "C" as city, (e ->> 'stream')::integer from jsonb_array_elements(p_items) e order by city
        loop
          if pg_try_advisory_xact_lock(1, v_stream) then v_free := v_free || v_city; end if;
        end loop;
      end if;
      with given as materialized (
        select (e.value ->> 'ord')::integer as ord, e.value ->> 'city' as city, (e.value ->> 'stream')::integer as stream,
               (e.value ->> 'conversation')::bigint as at, (e.value ->> 'sequence')::bigint as sequence, e.value as v
        from jsonb_array_elements(p_items) e where p_wait or e.value ->> 'city' = any(v_free)
      ), moved as (
        update extmsg_conversations c set head = m.head from (select g.at, max(g.sequence) as head from given g group by g.at) m where c.pk = m.at
      ), remembered as (
        update extmsg_groups p set last_addressed_handle = a.handle from (
          select distinct on ((g.v -> 'addressed' ->> 'group')::bigint) (g.v -> 'addressed' ->> 'group')::bigint as pk, g.v -> 'addressed' ->> 'handle' as handle
          from given g where g.v -> 'addressed' ->> 'group' is not null order by 1, g.ord desc) a
        where p.pk = a.pk
      ), seen as (
        -- Written now and then, or all that one adapter sends would wait for the same row.
        update extmsg_adapters a set last_seen_at = clock_timestamp() where a.pk in (
          select d.pk from extmsg_adapters d where d.pk in (select (g.v ->> 'adapter')::bigint from given g)
            and d.last_seen_at < clock_timestamp() - interval '5 seconds' for no key update skip locked)
      ), added as (
        insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
          reply_to_message_id, attachments, source_session_id, route)
        select g.at, g.sequence, e.id, 'inbound', e.provider_message_id, e.once_key, e.actor, e.text, e.explicit_target,
          e.reply_to_message_id, e.attachments, '', e.route
        from given g cross join lateral jsonb_to_record(g.v -> 'entry') as e (id text, provider_message_id text, once_key text, actor jsonb,
          text text, explicit_target text, reply_to_message_id text, attachments jsonb, route jsonb)
        returning conversation_pk, sequence, created_at
      ), told as (
        insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, deadline)
        select g.stream, g.at, d.id, 'inbound', g.sequence, d.selector, d.session_pk, d.body, clock_timestamp() + interval '24 hours'
        from given g cross join lateral jsonb_to_recordset(g.v -> 'deliveries') as d (id text, selector text, session_pk bigint, body text)
        order by g.ord
        on conflict do nothing
      )
      select array_agg(g.ord order by g.ord), array_agg(a.created_at order by g.ord), array_agg(g.city order by g.ord),
             (select coalesce(jsonb_agg(e.value order by o.ord, e.ordinality), '[]')
              from given o cross join lateral jsonb_array_elements(o.v -> 'events') with ordinality e)
      into v_ords, v_times, v_cities, v_events
      from given g join added a on a.conversation_pk = g.at and a.sequence = g.sequence;
      return query
        with heads as (select a.stream as city, max(a.seq) as head from append_events(v_events) a group by 1)
        select t.ord, t.created_at, h.head from unnest(v_ords, v_times, v_cities) as t(ord, created_at, city) join heads h on h.city = t.city
        order by t.ord;
    end
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function extmsg_take(jsonb, boolean)`.execute(db);
  await sql`drop function extmsg_look(jsonb, boolean)`.execute(db);
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
