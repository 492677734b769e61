-- Creates the beads of many callers of one city in one transaction, behind the city's work lock. An item of p_items:
--   bead   title, type, priority, assignee, description, labels, parent, metadata, defer_until, rig: checked for shape
--   event  stream, type, version, actor: what append_events needs beside what is taken from the row
--   key, hash  the Idempotency-Key of the request and the hash (hex) of its body, both or none
-- One row an item, in order: created, replayed (the stored answer), mismatch, no_rig, no_parent, or again for an item
-- whose key an earlier item of the batch has: it can be decided in the next batch. A single row of not_running when the
-- city serves nothing. No sequential scans, for the reason given with emit_events.
create or replace function create_beads(p_city text, p_items jsonb)
returns table (ord integer, outcome text, bead text, seq bigint)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_stream integer;
  v_outcomes text[];
  v_beads text[];
  v_events jsonb;
begin
  select stream_id into v_stream from cities where name = p_city and running;
  if v_stream is null or not begin_work(v_stream) then
    return query select 0, 'not_running', null::text, null::bigint;
    return;
  end if;
  with given as (
    select e.ordinality as n, e.value -> 'bead' as v, e.value -> 'event' as event, e.value ->> 'key' as key,
           decode(e.value ->> 'hash', 'hex') as hash,
           row_number() over (partition by e.value ->> 'key' order by e.ordinality) as nth
    from jsonb_array_elements(p_items) with ordinality e
  ), decided as (
    select g.*, r.prefix, k.body as stored,
           case when k.hash = g.hash then 'replayed'
                when k.hash is not null then 'mismatch'
                when g.key is not null and g.nth > 1 then 'again'
                when r.prefix is null then 'no_rig'
                when g.v ->> 'parent' is not null and p.id is null then 'no_parent'
                else 'created' end as outcome
    from given g
    left join lateral (
      select i.body_hash as hash, i.body::text as body from idempotency_keys i
      where i.scope = p_city and i.operation = 'create-bead' and i.key = g.key limit 1
    ) k on g.key is not null
    left join lateral (
      select r.prefix from rigs r where r.stream_id = v_stream and r.name = coalesce(g.v ->> 'rig', '') and r.present limit 1
    ) r on true
    left join lateral (
      select b.id from beads b where b.stream_id = v_stream and b.id = g.v ->> 'parent' limit 1
    ) p on g.v ->> 'parent' is not null
  ), counted as (
    insert into bead_counters as c (stream_id, prefix, last)
    select v_stream, d.prefix, count(*) from decided d where d.outcome = 'created' group by d.prefix
    on conflict (stream_id, prefix) do update set last = c.last + excluded.last
    returning prefix, last
  ), fresh as (
    select d.n, d.v, d.event, d.key, d.hash,
           d.prefix || '-' || (c.last - row_number() over (partition by d.prefix order by d.n desc) + 1) as id
    from decided d join counted c on c.prefix = d.prefix
    where d.outcome = 'created'
  ), added as (
    insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, parent, description, labels, metadata, defer_until)
    select v_stream, f.id, coalesce(f.v ->> 'rig', ''), f.v ->> 'title', coalesce(f.v ->> 'type', 'task'), (f.v ->> 'priority')::smallint,
           case when f.v ->> 'assignee' is not null
                then coalesce(agent_address(v_stream, f.v ->> 'assignee', coalesce(f.v ->> 'rig', '')), f.v ->> 'assignee') end,
           f.v ->> 'parent', f.v ->> 'description',
           array(select jsonb_array_elements_text(coalesce(f.v -> 'labels', '[]'))), coalesce(f.v -> 'metadata', '{}'),
           (f.v ->> 'defer_until')::timestamptz
    from fresh f order by f.n
    returning b.id, b.metadata, bead_json(b) as json
  ), made as (
    select f.n, f.key, f.hash, a.json,
           f.event || jsonb_build_object('subject', a.id, 'payload', json_build_object('bead', a.json),
             'run_id', bead_run_id(a.metadata, a.id), 'session_id', nullif(a.metadata ->> 'gc.session_id', ''), 'step_id', nullif(a.metadata ->> 'gc.step_id', '')) as event
    from fresh f join added a on a.id = f.id
  ), kept as (
    insert into idempotency_keys (scope, operation, key, body_hash, status, body)
    select p_city, 'create-bead', m.key, m.hash, 201, m.json from made m where m.key is not null
  )
  select array_agg(d.outcome order by d.n), array_agg(coalesce(m.json::text, d.stored) order by d.n),
         jsonb_agg(m.event order by d.n) filter (where m.n is not null)
  into v_outcomes, v_beads, v_events
  from decided d left join made m on m.n = d.n;
  return query
    with appended as (
      select a.ord as place, a.seq
      from append_events(coalesce(v_events, '[]')) with ordinality a(stream, stream_id, seq, ts, ord)
    ), answered as (
      select u.n, u.outcome, u.bead, count(*) filter (where u.outcome = 'created') over (order by u.n) as place
      from unnest(v_outcomes, v_beads) with ordinality u(outcome, bead, n)
    )
    select w.n::integer - 1, w.outcome, w.bead,
           case when w.outcome = 'created' then a.seq
                when w.outcome = 'replayed' then (select s.head from event_streams s where s.id = v_stream) end
    from answered w left join appended a on w.outcome = 'created' and a.place = w.place
    order by w.n;
end $$;
