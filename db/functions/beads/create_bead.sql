-- One bead, for the city where nobody else creates at this moment: the same decisions as create_beads in as few
-- statements as they take, at about a third of its price. Its answer is a row as create_beads gives them.
create or replace function create_bead(p_city text, p_item jsonb, p_wait boolean)
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
  if not p_wait and v_stream is not null and not try_work(v_stream) then
    outcome := 'busy';
    return next;
    return;
  end if;
  if v_stream is null or not begin_work(v_stream) then
    outcome := 'not_running';
    return next;
    return;
  end if;
  if v_key is not null then
    select i.body_hash, i.body::text into v_hash, bead from idempotency_keys i
    where i.scope = p_city and i.operation = 'create-bead' and i.key = v_key and i.created_at + interval '24 hours' > now();
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
    insert into idempotency_keys as k (scope, operation, key, body_hash, status, body)
    values (p_city, 'create-bead', v_key, decode(p_item ->> 'hash', 'hex'), 201, v_json)
    on conflict (scope, operation, key) do update set body_hash = excluded.body_hash, body = excluded.body, created_at = now(),
      status = case when k.created_at <= now() - interval '24 hours' then excluded.status end;
  end if;
  outcome := 'created';
  bead := v_json::text;
  return next;
end $$;

-- As the release before asks.
create or replace function create_bead(p_city text, p_item jsonb)
returns table (ord integer, outcome text, bead text, seq bigint)
language sql as $$
  select ord, outcome, bead, seq from create_bead(p_city, p_item, true)
$$;
