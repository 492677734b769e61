import { sql, type Kysely } from 'kysely';

/** One event is written in one place, and what a bead's run is told in one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function bead_run_id(p_metadata jsonb, p_id text) returns text
    language sql immutable parallel safe as $$
      select coalesce(nullif(p_metadata ->> 'workflow_id', ''), nullif(p_metadata ->> 'molecule_id', ''),
                      nullif(p_metadata ->> 'gc.root_bead_id', ''), p_id)
    $$`.execute(db);
  await sql`
    create or replace function append_event(p_stream integer, p_type text, p_version smallint, p_actor text, p_subject text, p_message text,
      p_payload jsonb, p_size integer, p_run text default null, p_session text default null, p_step text default null)
    returns bigint
    language plpgsql as $$
    declare
      v_seq bigint;
      v_ts timestamptz;
    begin
      perform pg_advisory_xact_lock(1, p_stream);
      update event_streams s set head = s.head + 1, last_ts = greatest(clock_timestamp(), s.last_ts)
      where s.id = p_stream returning s.head, s.last_ts into v_seq, v_ts;
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, size)
      values (p_stream, v_seq, v_ts, p_type, coalesce(p_version, 1::smallint), p_actor, p_subject, p_message, coalesce(p_payload, '{}'),
              p_run, p_session, p_step, p_size);
      return v_seq;
    end $$`.execute(db);
  await sql`
    create or replace function bead_event(p_stream text, p_type text, p_actor text, b beads) returns jsonb
    language sql stable as $$
      select jsonb_build_object('stream', p_stream, 'type', p_type, 'version', 1, 'actor', p_actor, 'subject', b.id,
        'run_id', bead_run_id(b.metadata, b.id), 'session_id', nullif(b.metadata ->> 'gc.session_id', ''), 'step_id', nullif(b.metadata ->> 'gc.step_id', ''))
    $$`.execute(db);
  await sql`
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
      seq := append_event(v_stream, p_item #>> '{event,type}', (p_item #>> '{event,version}')::smallint, p_item #>> '{event,actor}', v_id, null,
        jsonb_build_object('bead', v_json), 200 + octet_length(v_json::text),
        bead_run_id(v_meta, v_id), nullif(v_meta ->> 'gc.session_id', ''), nullif(v_meta ->> 'gc.step_id', ''));
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'create-bead', v_key, decode(p_item ->> 'hash', 'hex'), 201, v_json);
      end if;
      outcome := 'created';
      bead := v_json::text;
      return next;
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
      perform 1 from cities where name = p_city and running;
      if not found then
        return query select 0, 'not_running', null::bigint;
        return;
      end if;
      v_seq := append_event(v_stream, p_event ->> 'type', (p_event ->> 'version')::smallint, p_event ->> 'actor', p_event ->> 'subject',
                            p_event ->> 'message', p_event -> 'payload', octet_length(p_event::text));
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq));
      end if;
      return query select 0, 'recorded', v_seq;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function bead_event(p_stream text, p_type text, p_actor text, b beads) returns jsonb
    language sql stable as $$
      select jsonb_build_object('stream', p_stream, 'type', p_type, 'version', 1, 'actor', p_actor, 'subject', b.id,
        'run_id', coalesce(nullif(b.metadata ->> 'workflow_id', ''), nullif(b.metadata ->> 'molecule_id', ''),
                           nullif(b.metadata ->> 'gc.root_bead_id', ''), b.id),
        'session_id', nullif(b.metadata ->> 'gc.session_id', ''), 'step_id', nullif(b.metadata ->> 'gc.step_id', ''))
    $$`.execute(db);
  await sql`
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
                 'run_id', coalesce(nullif(a.metadata ->> 'workflow_id', ''), nullif(a.metadata ->> 'molecule_id', ''),
                                    nullif(a.metadata ->> 'gc.root_bead_id', ''), a.id),
                 'session_id', nullif(a.metadata ->> 'gc.session_id', ''), 'step_id', nullif(a.metadata ->> 'gc.step_id', '')) as event
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
      insert into events (stream_id, seq, ts, type, version, actor, subject, payload, run_id, session_id, step_id, size)
      values (v_stream, seq, v_ts, p_item #>> '{event,type}', (p_item #>> '{event,version}')::smallint, p_item #>> '{event,actor}', v_id,
              jsonb_build_object('bead', v_json),
              coalesce(nullif(v_meta ->> 'workflow_id', ''), nullif(v_meta ->> 'molecule_id', ''), nullif(v_meta ->> 'gc.root_bead_id', ''), v_id),
              nullif(v_meta ->> 'gc.session_id', ''), nullif(v_meta ->> 'gc.step_id', ''), 200 + octet_length(v_json::text));
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'create-bead', v_key, decode(p_item ->> 'hash', 'hex'), 201, v_json);
      end if;
      outcome := 'created';
      bead := v_json::text;
      return next;
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
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, size)
      values (v_stream, v_seq, v_ts, p_event ->> 'type', coalesce((p_event ->> 'version')::smallint, 1), p_event ->> 'actor',
              p_event ->> 'subject', p_event ->> 'message', coalesce(p_event -> 'payload', '{}'::jsonb), octet_length(p_event::text));
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq));
      end if;
      return query select 0, 'recorded', v_seq;
    end $$`.execute(db);
  await sql`drop function append_event(integer, text, smallint, text, text, text, jsonb, integer, text, text, text)`.execute(db);
  await sql`drop function bead_run_id(jsonb, text)`.execute(db);
}
