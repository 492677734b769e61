-- Appends the emits of many callers in one transaction. p_events: append_events' items, each with an optional "key" and the "hash" (hex) of
-- the request it came with; the stream is the city. Everything is decided behind the streams' locks, so two committers (and two items of one
-- batch) with the same key can only record once. With p_wait it waits for them, which only items of one city may; without, items of cities
-- whose stream somebody else has locked are busy. p_records has what is stored of the requests, by the places of their items: of those that
-- are recorded. One row an item, in order. Plans are kept for a connection's life and so must not depend on how small the tables were when
-- they were made: hence laterals, and no sequential scans.
create or replace function emit_events(p_events jsonb, p_wait boolean, p_records jsonb)
returns table (ord integer, outcome text, seq bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_cities text[];
  v_streams integer[];
  v_free boolean[];
  v_refused text[];
  v_fresh jsonb;
  v_ords integer[];
begin
  select array_agg(c.name), array_agg(c.stream_id),
         array_agg(case when p_wait then pg_advisory_xact_lock(1, c.stream_id) is not null else pg_try_advisory_xact_lock(1, c.stream_id) end)
  into v_cities, v_streams, v_free
  from (select distinct e ->> 'stream' as name from jsonb_array_elements(p_events) e) n
  cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
  with given as materialized (
    select e.ordinality::integer - 1 as ord, e.value as v, e.value ->> 'key' as k, e.value ->> 'stream' as city,
           array_position(v_cities, e.value ->> 'stream') as at,
           row_number() over (partition by e.value ->> 'stream', e.value ->> 'key' order by e.ordinality) as nth
    from jsonb_array_elements(p_events) with ordinality e
  ), ranked as materialized (
    select g.ord, g.v, g.k is null or (g.nth = 1 and i.known is null) as fresh,
           case when g.at is null or c.stream_id is null then 'not_running' when not v_free[g.at] then 'busy' end as refused
    from given g
    left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
    left join lateral (
      select true as known from idempotency_keys i where i.scope = g.city and i.operation = 'emit-event' and i.key = g.k limit 1
    ) i on g.k is not null
  )
  select array_agg(r.refused order by r.ord), jsonb_agg(r.v order by r.ord) filter (where r.fresh and r.refused is null),
         array_agg(r.ord order by r.ord) filter (where r.fresh and r.refused is null)
  into v_refused, v_fresh, v_ords
  from ranked r;
  return query
    with fresh as materialized (
      select v_ords[a.ord] as ord, a.seq
      from append_events(coalesce(v_fresh, '[]'::jsonb)) with ordinality a(stream, stream_id, seq, ts, ord)
    ), given as materialized (
      select e.ordinality::integer - 1 as ord, e.value ->> 'key' as k, decode(e.value ->> 'hash', 'hex') as hash, e.value ->> 'stream' as city,
             v_refused[e.ordinality] as refused
      from jsonb_array_elements(p_events) with ordinality e
    ), stored as materialized (
      insert into idempotency_keys (scope, operation, key, body_hash, status, body)
      select g.city, 'emit-event', g.k, g.hash, 201, json_build_object('status', 'recorded', 'seq', f.seq)
      from fresh f join given g on g.ord = f.ord
      where g.k is not null
      returning scope as city, key as k, body_hash as hash, (body ->> 'seq')::bigint as seq
    ), recorded as (
      insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
        reason, operation_request_id)
      select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
        r.reason, r.operation_request_id
      from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
        address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
      where r.ord = any(v_ords)
      on conflict (request_id) where request_id is not null do nothing
    )
    select g.ord,
           case when g.refused is not null then g.refused when f.ord is not null then 'recorded'
                when g.hash = coalesce(s.hash, o.hash) then 'replayed' else 'mismatch' end,
           case when g.refused is null then coalesce(f.seq, s.seq, o.seq) end
    from given g
    left join fresh f on f.ord = g.ord
    left join stored s on s.city = g.city and s.k = g.k
    left join lateral (
      select i.body_hash as hash, (i.body ->> 'seq')::bigint as seq from idempotency_keys i
      where i.scope = g.city and i.operation = 'emit-event' and i.key = g.k limit 1
    ) o on f.ord is null and s.k is null and g.refused is null
    order by g.ord;
end $$;

-- As the release before asks.
create or replace function emit_events(p_city text, p_events jsonb)
returns table (ord integer, outcome text, seq bigint)
language sql as $$
  select ord, outcome, seq from emit_events(p_events, true, '[]')
$$;
