import { sql, type Kysely } from 'kysely';

/** Events of many cities are emitted in one statement. What the release before calls stays and does the same. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function emit_event(p_city text, p_event jsonb, p_wait boolean)
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
      if p_wait then
        perform pg_advisory_xact_lock(1, v_stream);
      elsif not pg_try_advisory_xact_lock(1, v_stream) then
        return query select 0, 'busy', null::bigint;
        return;
      end if;
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
  await sql`
    create or replace function emit_event(p_city text, p_event jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language sql as $$
      select ord, outcome, seq from emit_event(p_city, p_event, true)
    $$`.execute(db);
  await sql`
    create or replace function emit_events(p_events jsonb, p_wait boolean, p_records jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    #variable_conflict use_column
    declare
      v_cities text[];
      v_streams integer[];
      v_free boolean[];
      v_refused text[];
      v_fresh jsonb;
      v_ords integer[];
    begin
      select array_agg(c.name), array_agg(c.stream_id),
             array_agg(case when p_wait then pg_advisory_xact_lock(1, c.stream_id) is not null else pg_try_advisory_xact_lock(1, c.stream_id) end)
      into v_cities, v_streams, v_free
      from (select distinct e ->> 'stream' as name from jsonb_array_elements(p_events) e) n
      cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
      with given as materialized (
        select e.ordinality::integer - 1 as ord, e.value as v, e.value ->> 'key' as k, e.value ->> 'stream' as city,
               array_position(v_cities, e.value ->> 'stream') as at,
               row_number() over (partition by e.value ->> 'stream', e.value ->> 'key' order by e.ordinality) as nth
        from jsonb_array_elements(p_events) with ordinality e
      ), ranked as materialized (
        select g.ord, g.v, g.k is null or (g.nth = 1 and i.known is null) as fresh,
               case when g.at is null or c.stream_id is null then 'not_running' when not v_free[g.at] then 'busy' end as refused
        from given g
        left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
        left join lateral (
          select true as known from idempotency_keys i where i.scope = g.city and i.operation = 'emit-event' and i.key = g.k limit 1
        ) i on g.k is not null
      )
      select array_agg(r.refused order by r.ord), jsonb_agg(r.v order by r.ord) filter (where r.fresh and r.refused is null),
             array_agg(r.ord order by r.ord) filter (where r.fresh and r.refused is null)
      into v_refused, v_fresh, v_ords
      from ranked r;
      return query
        with fresh as materialized (
          select v_ords[a.ord] as ord, a.seq
          from append_events(coalesce(v_fresh, '[]'::jsonb)) with ordinality a(stream, stream_id, seq, ts, ord)
        ), given as materialized (
          select e.ordinality::integer - 1 as ord, e.value ->> 'key' as k, decode(e.value ->> 'hash', 'hex') as hash, e.value ->> 'stream' as city,
                 v_refused[e.ordinality] as refused
          from jsonb_array_elements(p_events) with ordinality e
        ), stored as materialized (
          insert into idempotency_keys (scope, operation, key, body_hash, status, body)
          select g.city, 'emit-event', g.k, g.hash, 201, json_build_object('status', 'recorded', 'seq', f.seq)
          from fresh f join given g on g.ord = f.ord
          where g.k is not null
          returning scope as city, key as k, body_hash as hash, (body ->> 'seq')::bigint as seq
        ), recorded as (
          insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
            reason, operation_request_id)
          select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
            r.reason, r.operation_request_id
          from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
            address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
          where r.ord = any(v_ords)
          on conflict (request_id) where request_id is not null do nothing
        )
        select g.ord,
               case when g.refused is not null then g.refused when f.ord is not null then 'recorded'
                    when g.hash = coalesce(s.hash, o.hash) then 'replayed' else 'mismatch' end,
               case when g.refused is null then coalesce(f.seq, s.seq, o.seq) end
        from given g
        left join fresh f on f.ord = g.ord
        left join stored s on s.city = g.city and s.k = g.k
        left join lateral (
          select i.body_hash as hash, (i.body ->> 'seq')::bigint as seq from idempotency_keys i
          where i.scope = g.city and i.operation = 'emit-event' and i.key = g.k limit 1
        ) o on f.ord is null and s.k is null and g.refused is null
        order by g.ord;
    end $$`.execute(db);
  await sql`
    create or replace function emit_events(p_city text, p_events jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language sql as $$
      select ord, outcome, seq from emit_events(p_events, true, '[]')
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
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
  await sql`
    create or replace function emit_events(p_city text, p_events jsonb)
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
  await sql`drop function emit_event(text, jsonb, boolean)`.execute(db);
  await sql`drop function emit_events(jsonb, boolean, jsonb)`.execute(db);
}
