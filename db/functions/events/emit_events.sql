-- Appends the emits of many callers to one city in one transaction. p_events: append_events' items, each with an
-- optional "key" and the "hash" (hex) of the request it came with. Everything is decided behind the stream's lock, so
-- two committers (and two items of one batch) with the same key can only record once. One row an item, in order;
-- one row of not_running when the city serves nothing. Plans are kept for a connection's life and so must not
-- depend on how small the tables were when they were made: hence no sequential scans.
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
end $$;
