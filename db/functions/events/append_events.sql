-- Appends p_events (a JSON array, each with its "stream") to their streams, which must exist. Streams are locked in name order, and get
-- their times in the order of their last events: the supervisor's feed goes by times, and what ends an operation comes after all that
-- belongs to it. Returns one row an event, in the order given. Call it last in a transaction. A single event, which is what most transactions
-- have, takes a way of its own: two thirds of the time.
create or replace function append_events(p_events jsonb)
returns table (stream text, stream_id integer, seq bigint, ts timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  v_count constant integer := jsonb_array_length(p_events);
  -- of the streams, in the order of their names
  v_names text[];
  v_ids integer[];
  v_counts bigint[];
  v_lasts bigint[];
  v_bases bigint[];
  v_times timestamptz[];
  v_single boolean;
  -- of the events: which of its stream it is
  v_nths bigint[];
  v_event jsonb;
begin
  if v_count = 1 then
    v_event := p_events -> 0;
    select s.name, s.id into stream, stream_id from event_streams s where s.name = v_event ->> 'stream';
    if not found then
      raise exception 'event stream does not exist' using errcode = 'no_data_found';
    end if;
    perform pg_advisory_xact_lock(1, stream_id);
    update event_streams s set head = s.head + 1, last_ts = greatest(clock_timestamp(), s.last_ts)
    where s.id = append_events.stream_id returning s.head, s.last_ts into seq, ts;
    insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
    values (append_events.stream_id, append_events.seq, append_events.ts, v_event ->> 'type', coalesce((v_event ->> 'version')::smallint, 1),
            v_event ->> 'actor', v_event ->> 'subject', v_event ->> 'message', coalesce(v_event -> 'payload', '{}'), v_event ->> 'run_id',
            v_event ->> 'session_id', v_event ->> 'step_id',
            case when jsonb_typeof(v_event -> 'depends_on_step_ids') = 'array'
                 then array(select jsonb_array_elements_text(v_event -> 'depends_on_step_ids')) end, octet_length(v_event::text));
    return next;
    return;
  end if;
  -- Each stream by its key: a join would be planned for many and read every stream of the supervisor.
  select array_agg(n.name order by n.name), array_agg(s.id order by n.name), array_agg(n.count order by n.name), array_agg(n.last order by n.name)
  into v_names, v_ids, v_counts, v_lasts
  from (
    select (e.value ->> 'stream') collate "C" as name, count(*) as count, max(e.ordinality) as last
    from jsonb_array_elements(p_events) with ordinality e group by 1
  ) n
  left join lateral (select s.id from event_streams s where s.name = n.name limit 1) s on true;
  if array_position(v_ids, null) is not null then
    raise exception 'event stream does not exist' using errcode = 'no_data_found';
  end if;
  -- An array is gone through in its order. What comes after sees what had the locks before.
  perform pg_advisory_xact_lock(1, l.id) from unnest(v_ids) l(id);
  v_single := cardinality(v_ids) = 1;
  -- No stream's time goes back, and each has a later one than those before it.
  if v_single then
    update event_streams s set head = s.head + v_count, last_ts = greatest(clock_timestamp(), s.last_ts)
    where s.id = v_ids[1] returning array[s.head - v_count], array[s.last_ts] into v_bases, v_times;
  else
    with counted as (
      select c.*, row_number() over (order by c.last) as place from unnest(v_ids, v_counts, v_lasts) with ordinality c(id, count, last, at)
    ), timed as (
      select c.*, max(greatest(clock_timestamp(), s.last_ts) - c.place * interval '1 microsecond') over (order by c.place)
        + c.place * interval '1 microsecond' as ts
      from counted c cross join lateral (select s.last_ts from event_streams s where s.id = c.id limit 1) s
    ), moved as (
      update event_streams s set head = s.head + t.count, last_ts = t.ts from timed t where s.id = t.id
      returning t.at, s.head - t.count as base, s.last_ts as ts
    )
    select array_agg(m.base order by m.at), array_agg(m.ts order by m.at) into v_bases, v_times from moved m;
    if cardinality(v_ids) < v_count then
      select array_agg(n.nth order by n.ord) into v_nths from (
        select e.ordinality as ord, row_number() over (partition by e.value ->> 'stream' order by e.ordinality) as nth
        from jsonb_array_elements(p_events) with ordinality e
      ) n;
    end if;
  end if;
  return query
    with added as (
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
      select v_ids[g.at], v_bases[g.at] + case when v_single then g.ord else coalesce(v_nths[g.ord], 1) end, v_times[g.at],
             g.v ->> 'type', coalesce((g.v ->> 'version')::smallint, 1), g.v ->> 'actor', g.v ->> 'subject', g.v ->> 'message',
             coalesce(g.v -> 'payload', '{}'::jsonb), g.v ->> 'run_id', g.v ->> 'session_id', g.v ->> 'step_id',
             case when jsonb_typeof(g.v -> 'depends_on_step_ids') = 'array'
                  then array(select jsonb_array_elements_text(g.v -> 'depends_on_step_ids')) end, octet_length(g.v::text)
      from (
        select e.value as v, e.ordinality as ord, case when v_single then 1 else array_position(v_names, e.value ->> 'stream') end as at
        from jsonb_array_elements(p_events) with ordinality e offset 0
      ) g
      returning stream_id, seq, ts
    )
    select v_names[array_position(v_ids, a.stream_id)], a.stream_id, a.seq, a.ts from added a;
end $$;
