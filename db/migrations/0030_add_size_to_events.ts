import { sql, type Kysely, type RawBuilder } from 'kysely';

/**
 * An event knows about how many bytes its JSON has, so that a list or a stream reads no more than it may send: without that a long
 * payload has to be read to know how long it is. What was appended before has none, and is guessed by what it takes on disk.
 *
 * A column without a default is one row of the catalogue, however many events there are: the lock lasts for milliseconds, ten million
 * rows stay where they are.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table events add column size integer`.execute(db);
  await replaceFunctions(db, (part) => sql.raw(part));
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await replaceFunctions(db, () => sql.raw(''));
  await sql`alter table events drop column size`.execute(db);
}

/** The three that append, as they were but for the size. */
async function replaceFunctions(db: Kysely<unknown>, size: (part: string) => RawBuilder<unknown>): Promise<void> {
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
          insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids${size(', size')})
          select ids[g.at], bases[g.at] + g.rn, times[g.at], g.v ->> 'type', coalesce((g.v ->> 'version')::smallint, 1), g.v ->> 'actor',
                 g.v ->> 'subject', g.v ->> 'message', coalesce(g.v -> 'payload', '{}'::jsonb), g.v ->> 'run_id', g.v ->> 'session_id',
                 g.v ->> 'step_id',
                 case when jsonb_typeof(g.v -> 'depends_on_step_ids') = 'array'
                      then array(select jsonb_array_elements_text(g.v -> 'depends_on_step_ids')) end${size(', octet_length(g.v::text)')}
          from given g
          returning 1
        )
        select names[g.at], ids[g.at], bases[g.at] + g.rn, times[g.at] from given g order by g.ord;
    end $$`.execute(db);
  await sql`
    create or replace function emit_event(p_city text, p_event jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language plpgsql set enable_seqscan = off as $$
    #variable_conflict use_column
    declare
      v_key text := p_event ->> 'key';
      v_stream integer;
      v_hash bytea;
      v_seq bigint;
      v_ts timestamptz;
    begin
      select stream_id into v_stream from cities where name = p_city and running;
      if v_stream is null then
        return query select 0, 'not_running', null::bigint;
        return;
      end if;
      perform pg_advisory_xact_lock(1, v_stream);
      if v_key is not null then
        select i.body_hash, (i.body ->> 'seq')::bigint into v_hash, v_seq from idempotency_keys i
        where i.scope = p_city and i.operation = 'emit-event' and i.key = v_key;
        if found and exists (select from cities where name = p_city and running) then
          return query select 0, case when v_hash = decode(p_event ->> 'hash', 'hex') then 'replayed' else 'mismatch' end, v_seq;
          return;
        end if;
      end if;
      update event_streams s set head = s.head + 1, last_ts = greatest(clock_timestamp(), s.last_ts)
      where s.id = v_stream and exists (select from cities c where c.name = p_city and c.running)
      returning s.head, s.last_ts into v_seq, v_ts;
      if not found then
        return query select 0, 'not_running', null::bigint;
        return;
      end if;
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload${size(', size')})
      values (v_stream, v_seq, v_ts, p_event ->> 'type', coalesce((p_event ->> 'version')::smallint, 1), p_event ->> 'actor',
              p_event ->> 'subject', p_event ->> 'message', coalesce(p_event -> 'payload', '{}'::jsonb)${size(', octet_length(p_event::text)')});
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq));
      end if;
      return query select 0, 'recorded', v_seq;
    end $$`.execute(db);
  await sql`
    create or replace function create_bead(p_city text, p_item jsonb)
    returns table (ord integer, outcome text, bead text, seq bigint)
    language plpgsql set enable_seqscan = off as $$
    #variable_conflict use_column
    declare
      v_bead jsonb := p_item -> 'bead';
      v_key text := p_item ->> 'key';
      v_rig text := coalesce(v_bead ->> 'rig', '');
      v_assignee text := v_bead ->> 'assignee';
      v_meta jsonb := coalesce(v_bead -> 'metadata', '{}');
      v_stream integer;
      v_hash bytea;
      v_id text;
      v_row beads;
      v_json json;
      v_ts timestamptz;
    begin
      ord := 0;
      select stream_id into v_stream from cities where name = p_city and running;
      if v_stream is null or not begin_work(v_stream) then
        outcome := 'not_running';
        return next;
        return;
      end if;
      if v_key is not null then
        select i.body_hash, i.body::text into v_hash, bead from idempotency_keys i
        where i.scope = p_city and i.operation = 'create-bead' and i.key = v_key;
        if found then
          outcome := case when v_hash = decode(p_item ->> 'hash', 'hex') then 'replayed' else 'mismatch' end;
          select s.head into seq from event_streams s where s.id = v_stream;
          return next;
          return;
        end if;
      end if;
      if v_bead ? 'parent' and not exists (select from beads b where b.stream_id = v_stream and b.id = v_bead ->> 'parent') then
        outcome := case when exists (select from rigs r where r.stream_id = v_stream and r.name = v_rig and r.present) then 'no_parent' else 'no_rig' end;
        return next;
        return;
      end if;
      insert into bead_counters as c (stream_id, prefix, last)
      select r.stream_id, r.prefix, 1 from rigs r where r.stream_id = v_stream and r.name = v_rig and r.present
      on conflict (stream_id, prefix) do update set last = c.last + 1
      returning c.prefix || '-' || c.last into v_id;
      if v_id is null then
        outcome := 'no_rig';
        return next;
        return;
      end if;
      if v_assignee is not null then v_assignee := coalesce(agent_address(v_stream, v_assignee, v_rig), v_assignee); end if;
      insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, parent, description, labels, metadata, defer_until)
      values (v_stream, v_id, v_rig, v_bead ->> 'title', coalesce(v_bead ->> 'type', 'task'), (v_bead ->> 'priority')::smallint, v_assignee,
              v_bead ->> 'parent', v_bead ->> 'description', array(select jsonb_array_elements_text(coalesce(v_bead -> 'labels', '[]'))), v_meta,
              (v_bead ->> 'defer_until')::timestamptz)
      returning b.* into v_row;
      v_json := bead_json(v_row, null);
      perform pg_advisory_xact_lock(1, v_stream);
      update event_streams s set head = s.head + 1, last_ts = greatest(clock_timestamp(), s.last_ts)
      where s.id = v_stream returning s.head, s.last_ts into seq, v_ts;
      insert into events (stream_id, seq, ts, type, version, actor, subject, payload, run_id, session_id, step_id${size(', size')})
      values (v_stream, seq, v_ts, p_item #>> '{event,type}', (p_item #>> '{event,version}')::smallint, p_item #>> '{event,actor}', v_id,
              jsonb_build_object('bead', v_json),
              coalesce(nullif(v_meta ->> 'workflow_id', ''), nullif(v_meta ->> 'molecule_id', ''), nullif(v_meta ->> 'gc.root_bead_id', ''), v_id),
              nullif(v_meta ->> 'gc.session_id', ''), nullif(v_meta ->> 'gc.step_id', '')${size(', 200 + octet_length(v_json::text)')});
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'create-bead', v_key, decode(p_item ->> 'hash', 'hex'), 201, v_json);
      end if;
      outcome := 'created';
      bead := v_json::text;
      return next;
    end $$`.execute(db);
}
