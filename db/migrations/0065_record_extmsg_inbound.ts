import { sql, type Kysely } from 'kysely';

/** Messages from outside and the records of the requests that brought them are written by one function. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop function extmsg_take(jsonb, boolean)`.execute(db);
  await sql`
    create or replace function extmsg_take(p_items jsonb, p_wait boolean, p_records jsonb)
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
      if p_records <> '[]' then
        insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
          reason, operation_request_id)
        select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
          r.reason, r.operation_request_id
        from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
          address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
        where r.ord = any(v_ords)
        on conflict (request_id) where request_id is not null do nothing;
      end if;
      return query
        with heads as (select a.stream as city, max(a.seq) as head from append_events(v_events) a group by 1)
        select t.ord, t.created_at, h.head from unnest(v_ords, v_times, v_cities) as t(ord, created_at, city) join heads h on h.city = t.city
        order by t.ord;
    end
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function extmsg_take(jsonb, boolean, jsonb)`.execute(db);
  await sql`
    create or replace function extmsg_take(p_items jsonb, p_wait boolean)
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
