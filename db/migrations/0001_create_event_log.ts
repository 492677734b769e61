import { sql, type Kysely } from 'kysely';

/**
 * The event log. One counter row a stream; the counter is the last thing a transaction takes, behind an
 * advisory lock (a plain queue: waiters on the row itself wake and recheck at every release), so commit
 * order equals seq order and seqs have no gaps. A counter is never reset.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table event_streams (
      id integer generated always as identity constraint event_streams_id_pkey primary key,
      name text collate "C" not null constraint event_streams_name_key unique,
      head bigint not null default 0,
      floor bigint not null default 0,
      sealed_seq bigint not null default 0,
      last_ts timestamptz not null default '-infinity',
      active boolean not null default true,
      joined_seq bigint not null default 0,
      joined_supervisor_seq bigint not null default 0,
      created_at timestamptz not null default now(),
      constraint event_streams_head_check check (head >= 0 and floor <= head and sealed_seq <= head)
    ) with (fillfactor = 50)`.execute(db);
  // No foreign key: only the functions below write events, of streams whose row they have just updated, and streams are
  // never deleted. The check would cost each append a look-up of that very row.
  await sql`
    create table events (
      stream_id integer not null,
      seq bigint not null,
      ts timestamptz not null,
      type text collate "C" not null,
      version smallint not null default 1,
      actor text not null,
      subject text,
      message text,
      payload jsonb not null default '{}',
      run_id text,
      session_id text,
      step_id text,
      depends_on_step_ids text[],
      constraint events_stream_id_seq_pkey primary key (stream_id, seq)
    )`.execute(db);
  await sql`create index events_ts_stream_id_seq_idx on events (ts, stream_id, seq)`.execute(db);
  await sql`create index events_type_stream_id_seq_idx on events (type, stream_id, seq)`.execute(db);
  await sql`
    create table event_segments (
      stream_id integer not null constraint event_segments_stream_id_fkey references event_streams (id),
      first_seq bigint not null,
      last_seq bigint not null,
      sealed_at timestamptz not null default now(),
      dropped_at timestamptz,
      constraint event_segments_stream_id_first_seq_pkey primary key (stream_id, first_seq)
    )`.execute(db);
  await sql`
    create table event_cursors (
      id bigint generated always as identity constraint event_cursors_id_pkey primary key,
      root_id bigint,
      stream_ids integer[] not null,
      seqs bigint[] not null,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index event_cursors_root_id_id_idx on event_cursors (root_id, id)`.execute(db);
  await sql`create index event_cursors_created_at_idx on event_cursors (created_at)`.execute(db);
  await sql`insert into event_streams (name) values ('__supervisor__')`.execute(db);
  // Appends p_events (a JSON array, each with its "stream") to their streams, which must exist. Streams are locked in
  // name order. Returns one row an event, in the order given. Call it last in a transaction.
  await sql`
    create function append_events(p_events jsonb)
    returns table (stream text, stream_id integer, seq bigint, ts timestamptz)
    language plpgsql as $$
    declare
      v_name text;
      v_id integer;
      v_n bigint;
      v_base bigint;
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
      for i in 1 .. coalesce(array_length(names, 1), 0) loop
        select count(*) into v_n from jsonb_array_elements(p_events) e where e ->> 'stream' = names[i];
        update event_streams s set head = s.head + v_n, last_ts = greatest(clock_timestamp(), s.last_ts)
        where s.id = ids[i] returning s.head - v_n, s.last_ts into v_base, v_ts;
        bases := bases || v_base;
        times := times || v_ts;
      end loop;
      return query
        with given as (
          select e.value as v, e.ordinality as ord, array_position(names, e.value ->> 'stream') as at,
                 row_number() over (partition by e.value ->> 'stream' order by e.ordinality) as rn
          from jsonb_array_elements(p_events) with ordinality e
        ), added as (
          insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids)
          select ids[g.at], bases[g.at] + g.rn, times[g.at], g.v ->> 'type', coalesce((g.v ->> 'version')::smallint, 1), g.v ->> 'actor',
                 g.v ->> 'subject', g.v ->> 'message', coalesce(g.v -> 'payload', '{}'::jsonb), g.v ->> 'run_id', g.v ->> 'session_id',
                 g.v ->> 'step_id',
                 case when jsonb_typeof(g.v -> 'depends_on_step_ids') = 'array'
                      then array(select jsonb_array_elements_text(g.v -> 'depends_on_step_ids')) end
          from given g
          returning 1
        )
        select names[g.at], ids[g.at], bases[g.at] + g.rn, times[g.at] from given g order by g.ord;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function append_events(jsonb)`.execute(db);
  await sql`drop table event_cursors, event_segments, events, event_streams`.execute(db);
}
