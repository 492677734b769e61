-- Creates the beads of many callers in one transaction, behind the work locks of their cities. An item of p_items:
--   bead   title, type, priority, assignee, description, labels, parent, metadata, defer_until, rig: checked for shape
--   event  stream, type, version, actor: what append_events needs beside what is taken from the row; the stream is the city
--   key, hash  the Idempotency-Key of the request and the hash (hex) of its body, both or none
-- With p_wait it waits for the locks, which only items of one city may; without, items of cities in whose work somebody else is are busy,
-- and a stream that stays locked ends it (55P03). p_records has what is stored of the requests, by the places of their items: of those that are created.
-- One row an item, in order: created, replayed (the stored answer), mismatch, no_rig, no_parent, not_running, busy, or again for an
-- item whose key an earlier item of the batch has: it can be decided in the next batch. Each row is looked up by its key, whatever the
-- planner thinks of tables that were small when it planned: hence laterals.
create or replace function create_beads(p_items jsonb, p_wait boolean, p_records jsonb)
returns table (ord integer, outcome text, bead text, seq bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_cities text[];
  v_streams integer[];
  v_free boolean[];
  v_ords integer[];
  v_of integer[];
  v_outcomes text[];
  v_beads text[];
  v_events jsonb;
begin
  select array_agg(c.name), array_agg(c.stream_id), array_agg(case when p_wait then begin_work(c.stream_id) else try_work(c.stream_id) end)
  into v_cities, v_streams, v_free
  from (select distinct e.value #>> '{event,stream}' as name from jsonb_array_elements(p_items) e) n
  cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
  with given as materialized (
    select e.ordinality::integer - 1 as ord, e.value -> 'bead' as v, e.value -> 'event' as event, e.value ->> 'key' as key, e.value ->> 'hash' as hash,
           e.value #>> '{event,stream}' as city, array_position(v_cities, e.value #>> '{event,stream}') as at,
           row_number() over (partition by e.value #>> '{event,stream}', e.value ->> 'key' order by e.ordinality) as nth
    from jsonb_array_elements(p_items) with ordinality e
  ), decided as materialized (
    select g.*, v_streams[g.at] as stream, r.prefix, k.body as stored,
           case when g.at is null or c.stream_id is null then 'not_running'
                when not v_free[g.at] then 'busy'
                when k.hash = decode(g.hash, 'hex') then 'replayed'
                when k.hash is not null then 'mismatch'
                when g.key is not null and g.nth > 1 then 'again'
                when r.prefix is null then 'no_rig'
                when g.v ->> 'parent' is not null and p.id is null then 'no_parent'
                else 'created' end as outcome
    from given g
    left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
    left join lateral (
      select i.body_hash as hash, i.body::text as body from idempotency_keys i
      where i.scope = g.city and i.operation = 'create-bead' and i.key = g.key and i.created_at + interval '24 hours' > now() limit 1
    ) k on g.key is not null
    left join lateral (
      select r.prefix from rigs r where r.stream_id = v_streams[g.at] and r.name = coalesce(g.v ->> 'rig', '') and r.present limit 1
    ) r on true
    left join lateral (
      select b.id from beads b where b.stream_id = v_streams[g.at] and b.id = g.v ->> 'parent' limit 1
    ) p on g.v ->> 'parent' is not null
  ), counted as (
    insert into bead_counters as c (stream_id, prefix, last)
    select d.stream, d.prefix, count(*) from decided d where d.outcome = 'created' group by d.stream, d.prefix
    on conflict (stream_id, prefix) do update set last = c.last + excluded.last
    returning stream_id, prefix, last
  ), fresh as materialized (
    select d.ord, d.city, d.stream, d.v, d.event, d.key, d.hash,
           d.prefix || '-' || (c.last - row_number() over (partition by d.stream, d.prefix order by d.ord desc) + 1) as id
    from decided d join counted c on c.stream_id = d.stream and c.prefix = d.prefix
    where d.outcome = 'created'
  ), added as materialized (
    insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, parent, description, labels, metadata, defer_until)
    select f.stream, f.id, coalesce(f.v ->> 'rig', ''), f.v ->> 'title', coalesce(f.v ->> 'type', 'task'), (f.v ->> 'priority')::smallint,
           case when f.v ->> 'assignee' is not null
                then coalesce(agent_address(f.stream, f.v ->> 'assignee', coalesce(f.v ->> 'rig', '')), f.v ->> 'assignee') end,
           f.v ->> 'parent', f.v ->> 'description',
           array(select jsonb_array_elements_text(coalesce(f.v -> 'labels', '[]'))), coalesce(f.v -> 'metadata', '{}'),
           (f.v ->> 'defer_until')::timestamptz
    from fresh f order by f.ord
    returning b.stream_id, b.id, b.metadata, bead_json(b, null) as json
  ), made as materialized (
    select f.ord, f.city, f.key, f.hash, a.json,
           f.event || jsonb_build_object('subject', a.id, 'payload', json_build_object('bead', a.json),
             'run_id', bead_run_id(a.metadata, a.id), 'session_id', nullif(a.metadata ->> 'gc.session_id', ''), 'step_id', nullif(a.metadata ->> 'gc.step_id', '')) as event
    from fresh f join added a on a.stream_id = f.stream and a.id = f.id
  ), kept as (
    insert into idempotency_keys as k (scope, operation, key, body_hash, status, body)
    select m.city, 'create-bead', m.key, decode(m.hash, 'hex'), 201, m.json from made m where m.key is not null
    on conflict (scope, operation, key) do update set body_hash = excluded.body_hash, body = excluded.body, created_at = now(),
      status = case when k.created_at <= now() - interval '24 hours' then excluded.status end
  ), recorded as (
    insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
      reason, operation_request_id)
    select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
      r.reason, r.operation_request_id
    from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
      address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
    where r.ord = any(array(select m.ord from made m))
    on conflict (request_id) where request_id is not null do nothing
  )
  select array_agg(d.ord order by d.ord), array_agg(d.stream order by d.ord), array_agg(d.outcome order by d.ord), array_agg(coalesce(m.json::text, d.stored) order by d.ord),
         jsonb_agg(m.event order by d.ord) filter (where m.ord is not null)
  into v_ords, v_of, v_outcomes, v_beads, v_events
  from decided d left join made m on m.ord = d.ord;
  return query
    with appended as (
      select a.ord as place, a.seq
      from append_events(coalesce(v_events, '[]')) with ordinality a(stream, stream_id, seq, ts, ord)
    ), answered as (
      select u.ord, u.stream, u.outcome, u.bead, count(*) filter (where u.outcome = 'created') over (order by u.ord) as place
      from unnest(v_ords, v_of, v_outcomes, v_beads) u(ord, stream, outcome, bead)
    )
    select w.ord, w.outcome, w.bead,
           case when w.outcome = 'created' then a.seq
                when w.outcome = 'replayed' then (select s.head from event_streams s where s.id = w.stream) end
    from answered w left join appended a on w.outcome = 'created' and a.place = w.place
    order by w.ord;
end $$;

-- As the release before asks.
create or replace function create_beads(p_city text, p_items jsonb)
returns table (ord integer, outcome text, bead text, seq bigint)
language sql as $$
  select ord, outcome, bead, seq from create_beads(p_items, true, '[]')
$$;
