import { sql, type Kysely } from 'kysely';

/**
 * Events of many streams take two statements, and not three a stream: 560 µs of the database's processor for one event in each of
 * twelve streams, and not 850; a thousand in one cost what they cost before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function append_events(p_events jsonb)
    returns table (stream text, stream_id integer, seq bigint, ts timestamptz)
    language plpgsql as $$
    #variable_conflict use_column
    declare
      v_names text[];
      v_ids integer[];
    begin
      -- Each stream by its key: a join would be planned for many and read every stream of the supervisor.
      select array_agg(n.name order by n.name), array_agg(s.id order by n.name) into v_names, v_ids
      from (select distinct (e ->> 'stream') collate "C" as name from jsonb_array_elements(p_events) e) n
      left join lateral (select s.id from event_streams s where s.name = n.name limit 1) s on true;
      if array_position(v_ids, null) is not null then
        raise exception 'event stream does not exist' using errcode = 'no_data_found';
      end if;
      -- An array is gone through in its order. What comes after sees what had the locks before.
      perform pg_advisory_xact_lock(1, l.id) from unnest(v_ids) l(id);
      return query
        with given as materialized (
          select e.value as v, e.ordinality as ord, array_position(v_names, e.value ->> 'stream') as at
          from jsonb_array_elements(p_events) with ordinality e
        ), counted as (
          select g.at, v_ids[g.at] as id, count(*) as n, row_number() over (order by max(g.ord)) as place from given g group by g.at
        ), timed as (
          -- No stream's time goes back, and each has a later one than those before it.
          select c.*, max(greatest(clock_timestamp(), s.last_ts) - c.place * interval '1 microsecond') over (order by c.place)
            + c.place * interval '1 microsecond' as ts
          from counted c cross join lateral (select s.last_ts from event_streams s where s.id = c.id limit 1) s
        ), moved as materialized (
          update event_streams s set head = s.head + t.n, last_ts = t.ts from timed t where s.id = t.id
          returning t.at, s.id, s.head - t.n as base, s.last_ts as ts
        ), placed as materialized (
          select g.v, g.ord, m.at, m.id, m.ts, m.base + row_number() over (partition by m.at order by g.ord) as seq
          from given g join moved m on m.at = g.at
        ), added as (
          insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
          select p.id, p.seq, p.ts, p.v ->> 'type', coalesce((p.v ->> 'version')::smallint, 1), p.v ->> 'actor',
                 p.v ->> 'subject', p.v ->> 'message', coalesce(p.v -> 'payload', '{}'::jsonb), p.v ->> 'run_id', p.v ->> 'session_id',
                 p.v ->> 'step_id',
                 case when jsonb_typeof(p.v -> 'depends_on_step_ids') = 'array'
                      then array(select jsonb_array_elements_text(p.v -> 'depends_on_step_ids')) end, octet_length(p.v::text)
          from placed p
        )
        select v_names[p.at], p.id, p.seq, p.ts from placed p order by p.ord;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
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
    end $$`.execute(db);
}
