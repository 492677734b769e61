import { sql, type Kysely } from 'kysely';

/** What the event family does in one round trip: combined emits, positions by time, and values inside payloads. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Appends the emits of many callers to one city in one transaction. p_events: append_events' items, each with an
  // optional "key" and the "hash" (hex) of the request it came with. Everything is decided behind the stream's lock, so
  // two committers (and two items of one batch) with the same key can only record once. One row an item, in order;
  // one row of not_running when the city serves nothing.
  await sql`
    create function emit_events(p_city text, p_events jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language plpgsql as $$
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
      with given as (
        select e.ordinality::integer - 1 as ord, e.value as v, e.value ->> 'key' as k
        from jsonb_array_elements(p_events) with ordinality e
      ), ranked as (
        select g.*, row_number() over (partition by k order by ord) as nth from given g
      )
      select jsonb_agg(r.v order by r.ord), array_agg(r.ord order by r.ord) into v_fresh, v_ords
      from ranked r
      left join idempotency_keys i on i.scope = p_city and i.operation = 'emit-event' and i.key = r.k
      where r.k is null or (r.nth = 1 and i.key is null);
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
          returning key, body_hash, (body ->> 'seq')::bigint as seq
        ), kept as (
          select key, body_hash, seq from stored
          union all
          select i.key, i.body_hash, (i.body ->> 'seq')::bigint
          from idempotency_keys i
          where i.scope = p_city and i.operation = 'emit-event' and i.key in (select k from given)
        )
        select g.ord,
               case when f.ord is not null then 'recorded' when s.body_hash = g.hash then 'replayed' else 'mismatch' end,
               coalesce(f.seq, s.seq)
        from given g
        left join fresh f on f.ord = g.ord
        left join kept s on s.key = g.k
        order by g.ord;
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
  await sql`drop function emit_events(text, jsonb)`.execute(db);
}
