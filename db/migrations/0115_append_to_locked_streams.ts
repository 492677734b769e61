import { sql, type Kysely } from 'kysely';

/** What is another in `extmsg_take` and `extmsg_look` before and after. */
type Parts = Readonly<Record<'settings' | 'came' | 'taken' | 'heads' | 'lookSettings' | 'known', string>>;

const BEFORE: Parts = {
  settings: `    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    declare
      v_ords integer[];
      v_times timestamptz[];
      v_cities text[];
      v_events jsonb;`,
  came: `          select true as came from extmsg_entries n where n.conversation_pk = g.conversation and n.once_key = g.once and n.once_key <> '' limit 1) n on true
        left join lateral (select n.last_addressed_handle from extmsg_groups n where n.pk = g.grp limit 1) p on true
      ), free as materialized (
        select s.stream from (select distinct stream from given g where g.same) s where p_wait or pg_try_advisory_xact_lock(1, s.stream)`,
  taken: `      select array_agg(t.ord order by t.ord), array_agg(t.at order by t.ord), array_agg(t.city order by t.ord),
             case when count(*) = jsonb_array_length(p_items) then jsonb_path_query_array(p_items, '$[*].events[*]')
                  else (select coalesce(jsonb_agg(e.value order by o.ord, e.ordinality), '[]')
                        from taken o cross join lateral jsonb_array_elements(o.events) with ordinality e) end,
             jsonb_agg(t.addressed order by t.ord) filter (where t.addressed ->> 'group' is not null),
             array_agg(distinct t.adapter) filter (where t.adapter is not null)
      into v_ords, v_times, v_cities, v_events, v_addressed, v_adapters`,
  heads: `        with heads as (select a.stream as city, max(a.seq) as head from append_events(v_events) a group by 1)
        select t.ord, t.created_at, h.head from unnest(v_ords, v_times, v_cities) as t(ord, created_at, city) join heads h on h.city = t.city`,
  lookSettings: `    language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$`,
  known: `          select n.* from extmsg_entries n where n.conversation_pk = c.pk and n.once_key = i.once and n.once_key <> '' limit 1) k on true`,
};

const AFTER: Parts = {
  settings: `    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
      set plan_cache_mode = force_generic_plan as $$
    declare
      v_ords integer[];
      v_times timestamptz[];
      v_streams integer[];
      v_events jsonb[];`,
  came: `          select true as came from (
            select n.* from extmsg_entries n where (n.conversation_pk, n.once_key) >= (g.conversation, g.once) and n.once_key <> ''
            order by n.conversation_pk, n.once_key limit 1) n
          where n.conversation_pk = g.conversation and n.once_key = g.once) n on true
        left join lateral (select n.last_addressed_handle from extmsg_groups n where n.pk = g.grp limit 1) p on true
      ), free as materialized (
        select s.stream from (select distinct g.city collate "C", g.stream from given g where g.same order by 1) s
        where case when p_wait then pg_advisory_xact_lock(1, s.stream) is not null else pg_try_advisory_xact_lock(1, s.stream) end`,
  taken: `      select array_agg(t.ord order by t.ord), array_agg(t.at order by t.ord), array_agg(t.stream order by t.ord), array_agg(t.events order by t.ord),
             jsonb_agg(t.addressed order by t.ord) filter (where t.addressed ->> 'group' is not null),
             array_agg(distinct t.adapter) filter (where t.adapter is not null)
      into v_ords, v_times, v_streams, v_events, v_addressed, v_adapters`,
  heads: `        with heads as materialized (select a.o_stream as stream, a.o_head as head from append_locked(v_streams, v_events) a)
        select t.ord, t.created_at, h.head from unnest(v_ords, v_times, v_streams) as t(ord, created_at, stream) join heads h on h.stream = t.stream`,
  lookSettings: `    language plpgsql set enable_seqscan = off set enable_sort = off set enable_incremental_sort = off
      set plan_cache_mode = force_generic_plan as $$`,
  known: `          select n.* from (
            select n.* from extmsg_entries n where (n.conversation_pk, n.once_key) >= (c.pk, i.once) and n.once_key <> ''
            order by n.conversation_pk, n.once_key limit 1) n
          where n.conversation_pk = c.pk and n.once_key = i.once) k on true`,
};

const take = (parts: Parts): string => `
    create or replace function extmsg_take(p_items jsonb, p_wait boolean, p_records jsonb)
    returns table (o_ord integer, o_created_at timestamptz, o_head bigint)
${parts.settings}
      v_addressed jsonb;
      v_adapters bigint[];
    begin
      with given as materialized (
        select g.*, g.routing is null or coalesce(c.routing = g.routing and c.head = g.head and y.running and s.loaded and n.came is null
            and (g.expires is null or g.expires > clock_timestamp())
            and (g.grp is null or p.last_addressed_handle = g.addressee), false) as same,
          clock_timestamp() as at
        from jsonb_to_recordset(p_items) as g(ord integer, city text, stream integer, conversation bigint, sequence bigint, entry jsonb,
          deliveries jsonb, addressed jsonb, adapter bigint, events jsonb, once text, head bigint, routing bigint, expires timestamptz, grp bigint,
          addressee text)
        left join lateral (
          select n.head, n.routing from extmsg_conversations n where n.pk = g.conversation limit 1 for no key update skip locked) c on true
        left join lateral (select n.running from cities n where n.stream_id = g.stream and g.routing is not null limit 1) y on true
        left join lateral (select true as loaded from config_states n where n.stream_id = g.stream and n.revision > 0 and g.routing is not null limit 1) s on true
        left join lateral (
${parts.came}
      ), taken as materialized (
        select g.* from given g
        where g.same and g.conversation <> all(array(select o.conversation from given o where not o.same))
          and g.stream = any(array(select f.stream from free f))
      ), moved as (
        update extmsg_conversations c set head = m.head
        from (select t.conversation, max(t.sequence) as head from taken t group by t.conversation) m where c.pk = m.conversation
      ), added as (
        insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
          reply_to_message_id, attachments, source_session_id, route, created_at)
        select t.conversation, t.sequence, e.id, 'inbound', e.provider_message_id, e.once_key, e.actor, e.text, e.explicit_target,
          e.reply_to_message_id, e.attachments, '', e.route, t.at
        from taken t cross join lateral jsonb_to_record(t.entry) as e (id text, provider_message_id text, once_key text, actor jsonb,
          text text, explicit_target text, reply_to_message_id text, attachments jsonb, route jsonb)
      ), told as (
        insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, deadline)
        select t.stream, t.conversation, d.id, 'inbound', t.sequence, d.selector, d.session_pk, d.body, t.at + interval '24 hours'
        from taken t cross join lateral jsonb_to_recordset(t.deliveries) as d (id text, selector text, session_pk bigint, body text)
        order by t.ord
        on conflict (conversation_pk, sequence, session_pk) where direction <> 'outbound' and session_pk is not null do nothing
      ), recorded as (
        insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
          reason, operation_request_id)
        select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
          r.reason, r.operation_request_id
        from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
          address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
        where r.ord = any(array(select t.ord from taken t))
        on conflict (request_id) where request_id is not null do nothing
      )
${parts.taken}
      from taken t;
      if v_ords is null then return; end if;
      if v_addressed is not null then
        update extmsg_groups p set last_addressed_handle = a.handle from (
          select distinct on ((e.value ->> 'group')::bigint) (e.value ->> 'group')::bigint as pk, e.value ->> 'handle' as handle
          from jsonb_array_elements(v_addressed) with ordinality e order by 1, e.ordinality desc) a
        where p.pk = a.pk;
      end if;
      if v_adapters is not null then
        -- Written now and then, or all that one adapter sends would wait for the same row.
        update extmsg_adapters a set last_seen_at = clock_timestamp() where a.pk in (
          select d.pk from extmsg_adapters d where d.pk = any(v_adapters)
            and d.last_seen_at < clock_timestamp() - interval '5 seconds' for no key update skip locked);
      end if;
      return query
${parts.heads}
        order by t.ord;
    end
    $$`;

const look = (parts: Parts): string => `
    create or replace function extmsg_look(p_items jsonb, p_wait boolean)
    returns table (o_ord integer, o_found jsonb)
${parts.lookSettings}
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
${parts.known}
        -- Of what has come before, the binding that it went by.
        left join lateral (
          (select n.* from extmsg_bindings n where k.id is null and n.conversation_pk = c.pk and n.status = 'active' limit 1)
          union all
          (select n.* from extmsg_bindings n where n.pk = (k.route ->> 'binding')::bigint limit 1)) b on true
        left join lateral (select n.* from extmsg_groups n where n.conversation_pk = c.pk limit 1) g on true
        order by i.nth;
    end
    $$`;

export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create or replace function append_locked(p_streams integer[], p_lists jsonb[])
    returns table (o_stream integer, o_head bigint)
    language plpgsql as $$
    begin
      return query
        with placed as materialized (
          select l.stream, e.*, pg_column_size(l.list) / jsonb_array_length(l.list) as size,
            row_number() over (partition by l.stream order by l.ord, e.nth) as place
          from unnest(p_streams, p_lists) with ordinality as l(stream, list, ord)
          cross join lateral rows from (
            jsonb_to_recordset(l.list) as (type text, version smallint, actor text, subject text, message text, payload jsonb, run_id text,
              session_id text, step_id text, depends_on_step_ids text[])
          ) with ordinality as e(type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, nth)
        ), moved as (
          update event_streams s set head = s.head + n.count, last_ts = greatest(clock_timestamp(), s.last_ts)
          from (select p.stream, count(*) as count from placed p group by 1) n where s.id = n.stream
          returning s.id, s.head, s.head - n.count as base, s.last_ts
        ), added as (
          insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
          select p.stream, m.base + p.place, m.last_ts, p.type, coalesce(p.version, 1::smallint), p.actor, p.subject, p.message,
            coalesce(p.payload, '{}'), p.run_id, p.session_id, p.step_id, p.depends_on_step_ids, p.size
          from placed p join moved m on m.id = p.stream
        )
        select m.id, m.head from moved m;
    end $$`.execute(db);
  // The ids of its streams are known, and their locks are had, before it appends. What has come before is looked up in the order of its own index.
  await sql.raw(take(AFTER)).execute(db);
  await sql.raw(look(AFTER)).execute(db);
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql.raw(take(BEFORE)).execute(db);
  await sql.raw(look(BEFORE)).execute(db);
  await sql`drop function append_locked`.execute(db);
}
