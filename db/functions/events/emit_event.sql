-- One emit, for the quiet city: the same decisions as emit_events in as few statements as they take. Whether the city runs is
-- asked again behind the lock. With p_wait it waits for that; without, the city is busy where somebody else has it.
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
    where i.scope = p_city and i.operation = 'emit-event' and i.key = v_key and i.created_at + interval '24 hours' > now();
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
    insert into idempotency_keys as k (scope, operation, key, body_hash, status, body)
    values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq))
    on conflict (scope, operation, key) do update set body_hash = excluded.body_hash, body = excluded.body, created_at = now(),
      status = case when k.created_at <= now() - interval '24 hours' then excluded.status end;
  end if;
  return query select 0, 'recorded', v_seq;
end $$;

-- As the release before asks.
create or replace function emit_event(p_city text, p_event jsonb)
returns table (ord integer, outcome text, seq bigint)
language sql as $$
  select ord, outcome, seq from emit_event(p_city, p_event, true)
$$;
