-- Appends p_events (a JSON array, each with its "stream") to their streams, which must exist. Streams are locked in name order, and get
-- their times in the order of their last events: the supervisor's feed goes by times, and what ends an operation comes after all that
-- belongs to it. Returns one row an event, in the order given. Call it last in a transaction.
create or replace function append_events(p_events jsonb)
returns table (stream text, stream_id integer, seq bigint, ts timestamptz)
language plpgsql as $$
declare
  v_name text;
  v_id integer;
  v_n bigint;
  v_base bigint;
  v_at integer;
  v_ts timestamptz;
  names text[] := '{}';
  ids integer[] := '{}';
  bases bigint[] := '{}';
  times timestamptz[] := '{}';
begin
  for v_name in select distinct (e ->> 'stream') collate "C" as name from jsonb_array_elements(p_events) e order by name loop
    select id into v_id from event_streams where name = v_name;
    if v_id is null then
      raise exception 'event stream does not exist' using errcode = 'no_data_found';
    end if;
    perform pg_advisory_xact_lock(1, v_id);
    names := names || v_name;
    ids := ids || v_id;
  end loop;
  -- One stream at a time by its key: a join would be planned for many and read every stream of the supervisor.
  for v_name, v_n in
    select e.value ->> 'stream', count(*) from jsonb_array_elements(p_events) with ordinality e group by 1 order by max(e.ordinality)
  loop
    v_at := array_position(names, v_name);
    update event_streams s set head = s.head + v_n, last_ts = greatest(clock_timestamp(), s.last_ts, v_ts + interval '1 microsecond')
    where s.id = ids[v_at] returning s.head - v_n, s.last_ts into v_base, v_ts;
    bases[v_at] := v_base;
    times[v_at] := v_ts;
  end loop;
  return query
    with given as (
      select e.value as v, e.ordinality as ord, array_position(names, e.value ->> 'stream') as at,
             row_number() over (partition by e.value ->> 'stream' order by e.ordinality) as rn
      from jsonb_array_elements(p_events) with ordinality e
    ), added as (
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
      select ids[g.at], bases[g.at] + g.rn, times[g.at], g.v ->> 'type', coalesce((g.v ->> 'version')::smallint, 1), g.v ->> 'actor',
             g.v ->> 'subject', g.v ->> 'message', coalesce(g.v -> 'payload', '{}'::jsonb), g.v ->> 'run_id', g.v ->> 'session_id',
             g.v ->> 'step_id',
             case when jsonb_typeof(g.v -> 'depends_on_step_ids') = 'array'
                  then array(select jsonb_array_elements_text(g.v -> 'depends_on_step_ids')) end, octet_length(g.v::text)
      from given g
      returning 1
    )
    select names[g.at], ids[g.at], bases[g.at] + g.rn, times[g.at] from given g order by g.ord;
end $$;
