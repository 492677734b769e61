import { sql, type Kysely } from 'kysely';

/** What the event family does in one round trip: combined emits, positions by time, and values inside payloads. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Appends the emits of many callers to one city in one transaction. p_events: append_events' items, each with an
  // optional "key" and the "hash" (hex) of the request it came with. Everything is decided behind the stream's lock, so
  // two committers (and two items of one batch) with the same key can only record once. One row an item, in order;
  // one row of not_running when the city serves nothing. Plans are kept for a connection's life and so must not
  // depend on how small the tables were when they were made: hence no sequential scans.
  await sql`
    create function emit_events(p_city text, p_events jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language plpgsql set enable_seqscan = off as $$
    #variable_conflict use_column
    declare
      v_stream integer;
      v_fresh jsonb;
      v_ords integer[];
    begin
      select stream_id into v_stream from cities where name = p_city and running;
      if found then
        perform pg_advisory_xact_lock(1, v_stream);
        perform 1 from cities where name = p_city and running;
      end if;
      if not found then
        return query select 0, 'not_running', null::bigint;
        return;
      end if;
      if not jsonb_path_exists(p_events, '$[*].key') then
        return query
          select a.ord::integer - 1, 'recorded', a.seq
          from append_events(p_events) with ordinality a(stream, stream_id, seq, ts, ord);
        return;
      end if;
      with ranked as (
        select e.ordinality::integer - 1 as ord, e.value as v, e.value ->> 'key' as k,
               row_number() over (partition by e.value ->> 'key' order by e.ordinality) as nth
        from jsonb_array_elements(p_events) with ordinality e
      )
      select jsonb_agg(r.v order by r.ord), array_agg(r.ord order by r.ord) into v_fresh, v_ords
      from ranked r
      left join lateral (
        select true as known from idempotency_keys i
        where i.scope = p_city and i.operation = 'emit-event' and i.key = r.k limit 1
      ) i on r.k is not null
      where r.k is null or (r.nth = 1 and i.known is null);
      return query
        with fresh as (
          select v_ords[a.ord] as ord, a.seq
          from append_events(coalesce(v_fresh, '[]'::jsonb)) with ordinality a(stream, stream_id, seq, ts, ord)
        ), given as (
          select e.ordinality::integer - 1 as ord, e.value ->> 'key' as k, decode(e.value ->> 'hash', 'hex') as hash
          from jsonb_array_elements(p_events) with ordinality e
        ), stored as (
          insert into idempotency_keys (scope, operation, key, body_hash, status, body)
          select p_city, 'emit-event', g.k, g.hash, 201, json_build_object('status', 'recorded', 'seq', f.seq)
          from fresh f join given g on g.ord = f.ord
          where g.k is not null
          returning key as k, body_hash as hash, (body ->> 'seq')::bigint as seq
        )
        select g.ord,
               case when f.ord is not null then 'recorded' when g.hash = coalesce(s.hash, o.hash) then 'replayed' else 'mismatch' end,
               coalesce(f.seq, s.seq, o.seq)
        from given g
        left join fresh f on f.ord = g.ord
        left join stored s on s.k = g.k
        left join lateral (
          select i.body_hash as hash, (i.body ->> 'seq')::bigint as seq from idempotency_keys i
          where i.scope = p_city and i.operation = 'emit-event' and i.key = g.k limit 1
        ) o on f.ord is null and s.k is null
        order by g.ord;
    end $$`.execute(db);
  // One emit, for the quiet city: the same decisions as emit_events in as few statements as they take. The counter is
  // raised only while the city runs, checked in the same statement, behind the lock.
  await sql`
    create function emit_event(p_city text, p_event jsonb)
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
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload)
      values (v_stream, v_seq, v_ts, p_event ->> 'type', coalesce((p_event ->> 'version')::smallint, 1), p_event ->> 'actor',
              p_event ->> 'subject', p_event ->> 'message', coalesce(p_event -> 'payload', '{}'::jsonb));
      if v_key is not null then
        insert into idempotency_keys (scope, operation, key, body_hash, status, body)
        values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq));
      end if;
      return query select 0, 'recorded', v_seq;
    end $$`.execute(db);
  // The newest seq of a stream before p_ts, or its floor. Within a stream time never goes back and seqs have no
  // gaps, so halving finds it in some twenty lookups however long the log is.
  await sql`
    create function event_seq_before(p_stream integer, p_ts timestamptz) returns bigint
    language plpgsql stable as $$
    declare
      v_low bigint;
      v_high bigint;
      v_mid bigint;
      v_ts timestamptz;
    begin
      select s.floor, s.head into v_low, v_high from event_streams s where s.id = p_stream;
      while v_low < v_high loop
        v_mid := (v_low + v_high + 1) / 2;
        select e.ts into v_ts from events e where e.stream_id = p_stream and e.seq = v_mid;
        if v_ts is null or v_ts < p_ts then v_low := v_mid; else v_high := v_mid - 1; end if;
      end loop;
      return v_low;
    end $$`.execute(db);
  await sql`
    create function json_compact(p jsonb) returns text
    language sql immutable as $$
      select case jsonb_typeof(p)
        when 'object' then (select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || json_compact(m.value), ',' order by m.key collate "C"), '') || '}' from jsonb_each(p) m)
        when 'array' then (select '[' || coalesce(string_agg(json_compact(m.value), ',' order by m.ordinality), '') || ']' from jsonb_array_elements(p) with ordinality m)
        when 'number' then trim_scale(p::numeric)::text
        else p::text end
    $$`.execute(db);
  // A value inside a payload as text. At each level the whole remaining key is tried as a member's name before one
  // segment up to a dot is descended. Null when there is no such member; the text null for a JSON null.
  await sql`
    create function payload_text(p_payload jsonb, p_key text) returns text
    language plpgsql immutable as $$
    declare
      v jsonb := p_payload;
      k text := p_key;
      v_dot integer;
    begin
      loop
        if jsonb_typeof(v) is distinct from 'object' then return null; end if;
        exit when v ? k;
        v_dot := position('.' in k);
        if v_dot = 0 then return null; end if;
        v := v -> left(k, v_dot - 1);
        k := substr(k, v_dot + 1);
      end loop;
      v := v -> k;
      return case jsonb_typeof(v) when 'string' then v #>> '{}' else json_compact(v) end;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function payload_text(jsonb, text)`.execute(db);
  await sql`drop function json_compact(jsonb)`.execute(db);
  await sql`drop function event_seq_before(integer, timestamptz)`.execute(db);
  await sql`drop function emit_events(text, jsonb), emit_event(text, jsonb)`.execute(db);
}
