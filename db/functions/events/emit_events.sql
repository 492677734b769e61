-- Appends the emits of many callers in one transaction. p_events: append_events' items, each with an optional "key" and the "hash" (hex) of
-- the request it came with; the stream is the city. Everything is decided behind the streams' locks, so two committers (and two items of one
-- batch) with the same key can only record once. With p_wait it waits for them, which only items of one city may; without, items of cities
-- whose stream somebody else has locked are busy. p_records has what is stored of the requests, by the places of their items: of those that
-- are recorded. One row an item, in order. The items are read once, and one statement writes all that comes of them: with append_events, which
-- reads them again, and statements around it those with keys took a fifth more. Plans are kept for a connection's life and so must not depend
-- on how small the tables were when they were made: hence laterals, and no sequential scans.
create or replace function emit_events(p_events jsonb, p_wait boolean, p_records jsonb)
returns table (ord integer, outcome text, seq bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_cities text[];
  v_streams integer[];
  v_free boolean[];
begin
  select array_agg(c.name), array_agg(c.stream_id),
         array_agg(case when p_wait then pg_advisory_xact_lock(1, c.stream_id) is not null else pg_try_advisory_xact_lock(1, c.stream_id) end)
  into v_cities, v_streams, v_free
  from (select distinct e ->> 'stream' as name from jsonb_array_elements(p_events) e) n
  cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
  return query
    with given as materialized (
      select e.*, e.nth::integer - 1 as ord, array_position(v_cities, e.stream) as at,
             case when e.key is not null then row_number() over (partition by e.stream, e.key order by e.nth) end as repeat
      from rows from (
        jsonb_to_recordset(p_events) as (stream text, type text, version smallint, actor text, subject text, message text, payload jsonb,
          key text, hash text)
      ) with ordinality as e(stream, type, version, actor, subject, message, payload, key, hash, nth)
    ), decided as materialized (
      select g.*, v_streams[g.at] as stream_id, decode(g.hash, 'hex') as body_hash, k.hash as known_hash, k.seq as known_seq,
             case when g.at is null or c.stream_id is null then 'not_running' when not v_free[g.at] then 'busy'
                  when k.hash is not null or g.repeat > 1 then 'known' else 'recorded' end as outcome
      from given g
      left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
      left join lateral (
        select i.body_hash as hash, (i.body ->> 'seq')::bigint as seq from idempotency_keys i
        where i.scope = g.stream and i.operation = 'emit-event' and i.key = g.key and i.created_at + interval '24 hours' > now() limit 1
      ) k on g.key is not null
    ), placed as materialized (
      select d.*, row_number() over (partition by d.stream_id order by d.ord) as place from decided d where d.outcome = 'recorded'
    ), moved as (
      update event_streams s set head = s.head + n.count, last_ts = greatest(clock_timestamp(), s.last_ts)
      from (select p.stream_id, count(*) as count from placed p group by 1) n where s.id = n.stream_id
      returning s.id, s.head - n.count as base, s.last_ts
    ), numbered as materialized (
      select p.*, m.base + p.place as seq, m.last_ts from placed p join moved m on m.id = p.stream_id
    ), added as (
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, size)
      select n.stream_id, n.seq, n.last_ts, n.type, coalesce(n.version, 1::smallint), n.actor, n.subject, n.message, coalesce(n.payload, '{}'),
        200 + coalesce(octet_length(n.message), 0) + coalesce(pg_column_size(n.payload), 0)
      from numbered n order by n.ord
    ), stored as (
      insert into idempotency_keys as k (scope, operation, key, body_hash, status, body)
      select n.stream, 'emit-event', n.key, n.body_hash, 201, json_build_object('status', 'recorded', 'seq', n.seq)
      from numbered n where n.key is not null
      on conflict (scope, operation, key) do update set body_hash = excluded.body_hash, body = excluded.body, created_at = now(),
        status = case when k.created_at <= now() - interval '24 hours' then excluded.status end
    ), recorded as (
      insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
        reason, operation_request_id)
      select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
        r.reason, r.operation_request_id
      from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
        address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
      where r.ord = any(array(select n.ord from numbered n))
      on conflict (request_id) where request_id is not null do nothing
    )
    select d.ord,
           case when d.outcome <> 'known' then d.outcome when d.body_hash = coalesce(f.body_hash, d.known_hash) then 'replayed' else 'mismatch' end,
           case when d.outcome = 'recorded' then n.seq when d.outcome = 'known' then coalesce(f.seq, d.known_seq) end
    from decided d
    left join numbered n on n.ord = d.ord
    left join numbered f on d.outcome = 'known' and f.stream = d.stream and f.key = d.key
    order by d.ord;
end $$;

-- As the release before asks.
create or replace function emit_events(p_city text, p_events jsonb)
returns table (ord integer, outcome text, seq bigint)
language sql as $$
  select ord, outcome, seq from emit_events(p_events, true, '[]')
$$;
