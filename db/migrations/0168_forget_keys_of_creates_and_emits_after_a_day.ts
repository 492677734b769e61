import { sql, type Kysely } from 'kysely';

/** What is another in these functions before and after. */
interface Parts {
  readonly live: string;
  readonly as: string;
  readonly kept: (indent: string) => string;
}

/**
 * An answer that was stored a day ago counts no more, also where nobody has removed it yet, as with every other operation. How old it is stands there so that no
 * plan looks for it by its age. One that counts refuses everything that is written beside it, as its status may not be null: who has looked for it would have found it
 * behind the lock.
 */
const NOW: Parts = {
  live: " and i.created_at + interval '24 hours' > now()",
  as: ' as k',
  kept: (indent) => `
${indent}on conflict (scope, operation, key) do update set body_hash = excluded.body_hash, body = excluded.body, created_at = now(),
${indent}  status = case when k.created_at <= now() - interval '24 hours' then excluded.status end`,
};
const BEFORE: Parts = { live: '', as: '', kept: () => '' };

const createBead = ({ live, as, kept }: Parts): string => `
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
        where i.scope = p_city and i.operation = 'create-bead' and i.key = v_key${live};
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
        insert into idempotency_keys${as} (scope, operation, key, body_hash, status, body)
        values (p_city, 'create-bead', v_key, decode(p_item ->> 'hash', 'hex'), 201, v_json)${kept('        ')};
      end if;
      outcome := 'created';
      bead := v_json::text;
      return next;
    end $$;`;

const createBeads = ({ live, as, kept }: Parts): string => `
    create or replace function create_beads(p_items jsonb, p_wait boolean, p_records jsonb)
    returns table (ord integer, outcome text, bead text, seq bigint)
    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    #variable_conflict use_column
    declare
      v_cities text[];
      v_streams integer[];
      v_free boolean[];
      v_ords integer[];
      v_of integer[];
      v_outcomes text[];
      v_beads text[];
      v_events jsonb;
    begin
      select array_agg(c.name), array_agg(c.stream_id), array_agg(case when p_wait then begin_work(c.stream_id) else try_work(c.stream_id) end)
      into v_cities, v_streams, v_free
      from (select distinct e.value #>> '{event,stream}' as name from jsonb_array_elements(p_items) e) n
      cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
      with given as materialized (
        select e.ordinality::integer - 1 as ord, e.value -> 'bead' as v, e.value -> 'event' as event, e.value ->> 'key' as key, e.value ->> 'hash' as hash,
               e.value #>> '{event,stream}' as city, array_position(v_cities, e.value #>> '{event,stream}') as at,
               row_number() over (partition by e.value #>> '{event,stream}', e.value ->> 'key' order by e.ordinality) as nth
        from jsonb_array_elements(p_items) with ordinality e
      ), decided as materialized (
        select g.*, v_streams[g.at] as stream, r.prefix, k.body as stored,
               case when g.at is null or c.stream_id is null then 'not_running'
                    when not v_free[g.at] then 'busy'
                    when k.hash = decode(g.hash, 'hex') then 'replayed'
                    when k.hash is not null then 'mismatch'
                    when g.key is not null and g.nth > 1 then 'again'
                    when r.prefix is null then 'no_rig'
                    when g.v ->> 'parent' is not null and p.id is null then 'no_parent'
                    else 'created' end as outcome
        from given g
        left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
        left join lateral (
          select i.body_hash as hash, i.body::text as body from idempotency_keys i
          where i.scope = g.city and i.operation = 'create-bead' and i.key = g.key${live} limit 1
        ) k on g.key is not null
        left join lateral (
          select r.prefix from rigs r where r.stream_id = v_streams[g.at] and r.name = coalesce(g.v ->> 'rig', '') and r.present limit 1
        ) r on true
        left join lateral (
          select b.id from beads b where b.stream_id = v_streams[g.at] and b.id = g.v ->> 'parent' limit 1
        ) p on g.v ->> 'parent' is not null
      ), counted as (
        insert into bead_counters as c (stream_id, prefix, last)
        select d.stream, d.prefix, count(*) from decided d where d.outcome = 'created' group by d.stream, d.prefix
        on conflict (stream_id, prefix) do update set last = c.last + excluded.last
        returning stream_id, prefix, last
      ), fresh as materialized (
        select d.ord, d.city, d.stream, d.v, d.event, d.key, d.hash,
               d.prefix || '-' || (c.last - row_number() over (partition by d.stream, d.prefix order by d.ord desc) + 1) as id
        from decided d join counted c on c.stream_id = d.stream and c.prefix = d.prefix
        where d.outcome = 'created'
      ), added as materialized (
        insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, parent, description, labels, metadata, defer_until)
        select f.stream, f.id, coalesce(f.v ->> 'rig', ''), f.v ->> 'title', coalesce(f.v ->> 'type', 'task'), (f.v ->> 'priority')::smallint,
               case when f.v ->> 'assignee' is not null
                    then coalesce(agent_address(f.stream, f.v ->> 'assignee', coalesce(f.v ->> 'rig', '')), f.v ->> 'assignee') end,
               f.v ->> 'parent', f.v ->> 'description',
               array(select jsonb_array_elements_text(coalesce(f.v -> 'labels', '[]'))), coalesce(f.v -> 'metadata', '{}'),
               (f.v ->> 'defer_until')::timestamptz
        from fresh f order by f.ord
        returning b.stream_id, b.id, b.metadata, bead_json(b, null) as json
      ), made as materialized (
        select f.ord, f.city, f.key, f.hash, a.json,
               f.event || jsonb_build_object('subject', a.id, 'payload', json_build_object('bead', a.json),
                 'run_id', bead_run_id(a.metadata, a.id), 'session_id', nullif(a.metadata ->> 'gc.session_id', ''), 'step_id', nullif(a.metadata ->> 'gc.step_id', '')) as event
        from fresh f join added a on a.stream_id = f.stream and a.id = f.id
      ), kept as (
        insert into idempotency_keys${as} (scope, operation, key, body_hash, status, body)
        select m.city, 'create-bead', m.key, decode(m.hash, 'hex'), 201, m.json from made m where m.key is not null${kept('        ')}
      ), recorded as (
        insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
          reason, operation_request_id)
        select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
          r.reason, r.operation_request_id
        from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
          address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
        where r.ord = any(array(select m.ord from made m))
        on conflict (request_id) where request_id is not null do nothing
      )
      select array_agg(d.ord order by d.ord), array_agg(d.stream order by d.ord), array_agg(d.outcome order by d.ord), array_agg(coalesce(m.json::text, d.stored) order by d.ord),
             jsonb_agg(m.event order by d.ord) filter (where m.ord is not null)
      into v_ords, v_of, v_outcomes, v_beads, v_events
      from decided d left join made m on m.ord = d.ord;
      return query
        with appended as (
          select a.ord as place, a.seq
          from append_events(coalesce(v_events, '[]')) with ordinality a(stream, stream_id, seq, ts, ord)
        ), answered as (
          select u.ord, u.stream, u.outcome, u.bead, count(*) filter (where u.outcome = 'created') over (order by u.ord) as place
          from unnest(v_ords, v_of, v_outcomes, v_beads) u(ord, stream, outcome, bead)
        )
        select w.ord, w.outcome, w.bead,
               case when w.outcome = 'created' then a.seq
                    when w.outcome = 'replayed' then (select s.head from event_streams s where s.id = w.stream) end
        from answered w left join appended a on w.outcome = 'created' and a.place = w.place
        order by w.ord;
    end $$;`;

const emitEvent = ({ live, as, kept }: Parts): string => `
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
        where i.scope = p_city and i.operation = 'emit-event' and i.key = v_key${live};
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
        insert into idempotency_keys${as} (scope, operation, key, body_hash, status, body)
        values (p_city, 'emit-event', v_key, decode(p_event ->> 'hash', 'hex'), 201, json_build_object('status', 'recorded', 'seq', v_seq))${kept('        ')};
      end if;
      return query select 0, 'recorded', v_seq;
    end $$;`;

const emitEvents = ({ live, as, kept }: Parts): string => `
    create or replace function emit_events(p_events jsonb, p_wait boolean, p_records jsonb)
    returns table (ord integer, outcome text, seq bigint)
    language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    #variable_conflict use_column
    declare
      v_cities text[];
      v_streams integer[];
      v_free boolean[];
    begin
      select array_agg(c.name), array_agg(c.stream_id),
             array_agg(case when p_wait then pg_advisory_xact_lock(1, c.stream_id) is not null else pg_try_advisory_xact_lock(1, c.stream_id) end)
      into v_cities, v_streams, v_free
      from (select distinct e ->> 'stream' as name from jsonb_array_elements(p_events) e) n
      cross join lateral (select c.name, c.stream_id from cities c where c.name = n.name and c.running limit 1) c;
      return query
        with given as materialized (
          select e.*, e.nth::integer - 1 as ord, array_position(v_cities, e.stream) as at,
                 case when e.key is not null then row_number() over (partition by e.stream, e.key order by e.nth) end as repeat
          from rows from (
            jsonb_to_recordset(p_events) as (stream text, type text, version smallint, actor text, subject text, message text, payload jsonb,
              key text, hash text)
          ) with ordinality as e(stream, type, version, actor, subject, message, payload, key, hash, nth)
        ), decided as materialized (
          select g.*, v_streams[g.at] as stream_id, decode(g.hash, 'hex') as body_hash, k.hash as known_hash, k.seq as known_seq,
                 case when g.at is null or c.stream_id is null then 'not_running' when not v_free[g.at] then 'busy'
                      when k.hash is not null or g.repeat > 1 then 'known' else 'recorded' end as outcome
          from given g
          left join lateral (select c.stream_id from cities c where c.stream_id = v_streams[g.at] and c.running limit 1) c on true
          left join lateral (
            select i.body_hash as hash, (i.body ->> 'seq')::bigint as seq from idempotency_keys i
            where i.scope = g.stream and i.operation = 'emit-event' and i.key = g.key${live} limit 1
          ) k on g.key is not null
        ), placed as materialized (
          select d.*, row_number() over (partition by d.stream_id order by d.ord) as place from decided d where d.outcome = 'recorded'
        ), moved as (
          update event_streams s set head = s.head + n.count, last_ts = greatest(clock_timestamp(), s.last_ts)
          from (select p.stream_id, count(*) as count from placed p group by 1) n where s.id = n.stream_id
          returning s.id, s.head - n.count as base, s.last_ts
        ), numbered as materialized (
          select p.*, m.base + p.place as seq, m.last_ts from placed p join moved m on m.id = p.stream_id
        ), added as (
          insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, size)
          select n.stream_id, n.seq, n.last_ts, n.type, coalesce(n.version, 1::smallint), n.actor, n.subject, n.message, coalesce(n.payload, '{}'),
            200 + coalesce(octet_length(n.message), 0) + coalesce(pg_column_size(n.payload), 0)
          from numbered n order by n.ord
        ), stored as (
          insert into idempotency_keys${as} (scope, operation, key, body_hash, status, body)
          select n.stream, 'emit-event', n.key, n.body_hash, 201, json_build_object('status', 'recorded', 'seq', n.seq)
          from numbered n where n.key is not null${kept('          ')}
        ), recorded as (
          insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
            reason, operation_request_id)
          select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
            r.reason, r.operation_request_id
          from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
            address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
          where r.ord = any(array(select n.ord from numbered n))
          on conflict (request_id) where request_id is not null do nothing
        )
        select d.ord,
               case when d.outcome <> 'known' then d.outcome when d.body_hash = coalesce(f.body_hash, d.known_hash) then 'replayed' else 'mismatch' end,
               case when d.outcome = 'recorded' then n.seq when d.outcome = 'known' then coalesce(f.seq, d.known_seq) end
        from decided d
        left join numbered n on n.ord = d.ord
        left join numbered f on d.outcome = 'known' and f.stream = d.stream and f.key = d.key
        order by d.ord;
    end $$;`;

async function put(db: Kysely<unknown>, parts: Parts): Promise<void> {
  for (const text of [createBead, createBeads, emitEvent, emitEvents]) await sql.raw(text(parts)).execute(db);
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await put(db, NOW);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await put(db, BEFORE);
}
