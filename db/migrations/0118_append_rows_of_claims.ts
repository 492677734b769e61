import { sql, type Kysely } from 'kysely';

/** What is another in `claim_work` before and after. */
type Parts = Readonly<
  Record<'who' | 'route' | 'lists' | 'events' | 'round' | 'rejected' | 'taken' | 'given' | 'moved' | 'siblings' | 'appended', string>
>;

/** Events go to the log as rows, what a round takes is one list, and a pool is looked up once for its members. */
const NOW: Parts = {
  who: `        with given as materialized (
          select e.ordinality as n, e.value as v, e.value ->> 'agent' as agent, substring(e.value ->> 'agent' from '-[0-9]+$') as slot,
                 array(select jsonb_array_elements_text(e.value -> 'names')) as names
          from jsonb_array_elements(p_items) with ordinality e
        ), named as materialized (
          select g.*, case when g.slot is not null
            and not exists (select from agents a where a.stream_id = v_stream and a.present and a.name = g.agent)
            and not exists (select from agents a where a.stream_id = v_stream and a.present and a.base = g.agent)
            then left(g.agent, -length(g.slot)) end as pool
          from given g
        ), pools as materialized (
          select n.pool, c.route, c.me from (select distinct pool from named where pool is not null) n cross join lateral claimant(v_stream, n.pool) c
        )
        select i.n::integer - 1 as n, i.v, i.v ->> 'bead' as id, coalesce(w.name, i.agent) as name, w.route, w.me, i.names,
               coalesce(i.v -> 'stamps', '{}') as stamps,
               count(*) over (partition by i.v ? 'bead', w.route) as rivals,`,
  route: `               not i.v ? 'bead' and w.name <> w.route and (
                 select true from beads b where b.stream_id = v_stream and b.routed_to = w.name and bead_is_offered(b)
                 order by b.created_at, b.id limit 1) as has_offers
        from named i
        left join pools p on p.pool = i.pool
        left join lateral claimant(v_stream, case when p.pool is null then i.agent end) c on true
        cross join lateral (
          select coalesce(p.route || i.slot, c.name) as name, coalesce(p.route, c.route) as route,
                 case when p.pool is null then coalesce(c.me, array[i.agent]) else array(select m.name || i.slot from unnest(p.me) m(name)) end || i.names as me
          offset 0
        ) w
        order by i.v ? 'bead' desc, case when not i.v ? 'bead' then w.route end, i.n;`,
  lists: `      v_takes new_claim[];
      v_ids text[];`,
  events: `      v_events new_event[] := '{}';`,
  round: `        v_takes := '{}'; v_ids := '{}'; v_all := '{}'; v_bare := '{}'; v_sessions := '{}'; v_grouped := false; v_current := false;`,
  rejected: `              v_events := array_append(v_events, new_bead_event('bead.claim_rejected', v_item.name, v_seen,
                json_build_object('bead_id', v_seen.id, 'existing_claimant', v_seen.assignee, 'attempted_claimant', v_item.name)));`,
  taken: `            v_ids := array_append(v_ids, v_seen.id);
            -- Another session of the same owner, which may take it once the lease has ended, takes it from the one before.
            v_takes := array_append(v_takes, row(ord, v_seen.id, v_seen.revision, v_item.name,
              v_seen.status = 'open' or v_seen.assignee is null or v_item.names <> '{}'
                and coalesce(v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name', '') <> ''
                and not array[v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name'] && v_item.names,
              v_seen.assignee, (v_item.v ->> 'lease_ms')::integer, v_item.stamps)::new_claim);`,
  given: `            from unnest(v_takes) with ordinality t(n, id, revision, name, fresh, was, lease_ms, stamps, place)`,
  moved: `              new_bead_event('bead.updated', v_taken.name, v_taken.bead, json_build_object('bead', v_taken.json)));
          end if;
          if v_taken.fresh and (v_taken.bead).metadata ->> 'gc.formula_contract' = 'graph.v2' and (v_taken.bead).metadata ->> 'gc.step_id' <> '' then
            v_events := array_append(v_events, new_bead_event('execution.step_started', v_taken.name, v_taken.bead, '{}'));`,
  siblings: `              v_events := array_append(v_events, new_bead_event('bead.updated', v_taken.name, v_sibling, json_build_object('bead', (
                select bead_json(v_sibling, d.dependencies, d.needs) from bead_edges(v_stream, v_sibling.id) d))));`,
  appended: `      head := append_new(v_stream, v_events);`,
};

const BEFORE: Parts = {
  who: `        select i.n::integer - 1 as n, i.v, i.v ->> 'bead' as id, coalesce(c.name, i.v ->> 'agent') as name, c.route,
               w.me, i.names, coalesce(i.v -> 'stamps', '{}') as stamps,
               count(*) over (partition by i.v ? 'bead', c.route) as rivals,`,
  route: `               not i.v ? 'bead' and c.name <> c.route and (
                 select true from beads b where b.stream_id = v_stream and b.routed_to = c.name and bead_is_offered(b)
                 order by b.created_at, b.id limit 1) as has_offers
        from (
          select e.ordinality as n, e.value as v, array(select jsonb_array_elements_text(e.value -> 'names')) as names
          from jsonb_array_elements(p_items) with ordinality e
        ) i
        left join lateral claimant(v_stream, i.v ->> 'agent') c on true
        cross join lateral (select coalesce(c.me, array[i.v ->> 'agent']) || i.names as me) w
        order by i.v ? 'bead' desc, case when not i.v ? 'bead' then c.route end, i.n;`,
  lists: `      v_ords integer[];
      v_ids text[];
      v_revisions bigint[];
      v_names text[];
      v_fresh boolean[];
      v_was text[];
      v_leases integer[];
      v_stamps jsonb[];`,
  events: `      v_events jsonb[] := '{}';`,
  round: `        v_ords := '{}'; v_ids := '{}'; v_revisions := '{}'; v_names := '{}'; v_fresh := '{}'; v_was := '{}'; v_leases := '{}'; v_stamps := '{}';
        v_all := '{}'; v_bare := '{}'; v_sessions := '{}'; v_grouped := false; v_current := false;`,
  rejected: `              v_events := array_append(v_events, bead_event(p_city, 'bead.claim_rejected', v_item.name, v_seen) || jsonb_build_object('payload',
                jsonb_build_object('bead_id', v_seen.id, 'existing_claimant', v_seen.assignee, 'attempted_claimant', v_item.name)));`,
  taken: `            v_ords := array_append(v_ords, ord);
            v_ids := array_append(v_ids, v_seen.id);
            v_revisions := array_append(v_revisions, v_seen.revision);
            v_names := array_append(v_names, v_item.name);
            -- Another session of the same owner, which may take it once the lease has ended, takes it from the one before.
            v_fresh := array_append(v_fresh, v_seen.status = 'open' or v_seen.assignee is null or v_item.names <> '{}'
              and coalesce(v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name', '') <> ''
              and not array[v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name'] && v_item.names);
            v_was := array_append(v_was, v_seen.assignee);
            v_leases := array_append(v_leases, (v_item.v ->> 'lease_ms')::integer);
            v_stamps := array_append(v_stamps, v_item.stamps);`,
  given: `            from unnest(v_ords, v_ids, v_revisions, v_names, v_fresh, v_was, v_leases, v_stamps)
              with ordinality t(n, id, revision, name, fresh, was, lease_ms, stamps, place)`,
  moved: `              bead_event(p_city, 'bead.updated', v_taken.name, v_taken.bead) || jsonb_build_object('payload', jsonb_build_object('bead', v_taken.json)));
          end if;
          if v_taken.fresh and (v_taken.bead).metadata ->> 'gc.formula_contract' = 'graph.v2' and (v_taken.bead).metadata ->> 'gc.step_id' <> '' then
            v_events := array_append(v_events, bead_event(p_city, 'execution.step_started', v_taken.name, v_taken.bead) || '{"payload": {}}');`,
  siblings: `              v_events := array_append(v_events, bead_event(p_city, 'bead.updated', v_taken.name, v_sibling)
                || jsonb_build_object('payload', jsonb_build_object('bead', (
                  select bead_json(v_sibling, d.dependencies, d.needs) from bead_edges(v_stream, v_sibling.id) d))));`,
  appended: `      select max(a.seq) into head from append_events(to_jsonb(v_events)) a;`,
};

const claimWork = (p: Parts): string => `
    create or replace function claim_work(p_city text, p_items jsonb)
    returns table (ord integer, outcome text, result json, head bigint)
    language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    #variable_conflict use_column
    declare
      v_stream integer;
      v_items cursor for
${p.who}
               not i.v ? 'bead' and (
                 select true from unnest(w.me) m(name) cross join lateral (
                   select from beads b where b.stream_id = v_stream and b.assignee = m.name and b.status <> 'closed'
                   order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit 1) b limit 1) as has_work,
${p.route}
      v_item record;
      v_seen beads;
      v_taken record;
      v_sibling beads;
      v_siblings text[];
      v_grouped boolean;
      -- candidates of the route
      v_route text;
      v_queue beads[] := '{}';
      v_current boolean; -- nothing was written since they were read
      v_at integer := 1;
      v_wanted integer;
      v_last_at timestamptz;
      v_last_id text;
      -- what the round takes, and for whom
${p.lists}
      v_all text[];
      v_bare text[];
      v_sessions text[];
      -- names of all that have taken something
      v_takers text[] := '{}';
      v_left integer;
${p.events}
    begin
      select stream_id into v_stream from cities where name = p_city and running;
      if v_stream is null or not begin_work(v_stream) then
        return query select 0, 'not_running', null::json, null::bigint;
        return;
      end if;
      open v_items;
      fetch v_items into v_item;
      while v_item.n is not null loop
${p.round}
        loop
          ord := v_item.n;
          outcome := null;
          result := null;
          v_seen := null;
          if v_item.id is not null then
            select b.* into v_seen from beads b where b.stream_id = v_stream and b.id = v_item.id;
            if v_seen.id is null then
              outcome := 'not_found';
            elsif v_seen.assignee is not null and not bead_is_mine(v_seen, v_item.me, v_item.names) then
              outcome := case when v_seen.status = 'closed' then 'closed' else 'owned' end;
${p.rejected}
            elsif v_seen.status = 'closed' then
              outcome := 'closed';
            elsif (v_seen.status = 'open' or v_seen.assignee is null) and v_item.v -> 'force' is distinct from 'true'
              and not (v_seen.workable and v_seen.open_blockers = 0 and coalesce(v_seen.defer_until <= now(), true)) then
              outcome := 'unready';
            end if;
            if outcome is not null and v_seen.id is not null then
              result := json_build_object('owner', v_seen.assignee, 'issue_type', v_seen.issue_type, 'workable', v_seen.workable,
                'defer_until', v_seen.defer_until, 'blockers', array(
                  select d.depends_on_id from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
                  where d.stream_id = v_stream and d.issue_id = v_seen.id and d.blocking and t.status <> 'closed' order by d.depends_on_id));
            end if;
          elsif v_item.route is null then
            outcome := 'unknown_agent';
          else
            if v_item.route is distinct from v_route then
              v_route := v_item.route; v_queue := '{}'; v_at := 1; v_wanted := v_item.rivals; v_last_at := '-infinity'; v_last_id := '';
            end if;
            if v_item.has_work or v_item.me && v_takers then
              select o.* into v_seen from unnest(v_item.me) m(name) cross join lateral (
                select b.* from beads b
                where b.stream_id = v_stream and b.assignee = m.name and b.status <> 'closed' and bead_is_doable(b)
                  and bead_is_mine(b, v_item.me, v_item.names) and b.id <> all (v_ids)
                order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit 1
              ) o
              order by o.status, coalesce(o.priority, 2), o.created_at, o.id limit 1;
            end if;
            if v_seen.id is null and v_item.has_offers then
              select b.* into v_seen from beads b
              where b.stream_id = v_stream and b.routed_to = v_item.name and bead_is_offered(b) and b.id <> all (v_ids)
              order by b.created_at, b.id limit 1;
            end if;
            while v_seen.id is null and (v_at <= cardinality(v_queue) or v_wanted > 0) loop
              if v_at > cardinality(v_queue) then
                select coalesce(array_agg(o.b), '{}') into v_queue from (
                  select b from beads b
                  where b.stream_id = v_stream and b.routed_to = v_route and bead_is_offered(b) and (b.created_at, b.id) > (v_last_at, v_last_id)
                    and b.id <> all (v_ids)
                  order by b.created_at, b.id limit v_wanted
                ) o;
                v_at := 1;
                v_current := true;
                if v_queue <> '{}' then
                  v_seen := v_queue[cardinality(v_queue)];
                  v_last_at := v_seen.created_at; v_last_id := v_seen.id; v_seen := null;
                end if;
                if cardinality(v_queue) < v_wanted then v_wanted := 0; end if;
              end if;
              if v_at <= cardinality(v_queue) then
                v_seen := v_queue[v_at];
                if not v_current then
                  select b.* into v_seen from beads b where b.stream_id = v_stream and b.id = v_seen.id and bead_is_offered(b);
                end if;
              end if;
              v_at := v_at + 1;
            end loop;
            if v_seen.id is null then outcome := 'none'; end if;
          end if;
          if outcome is not null then
            return next;
          else
${p.taken}
            v_all := v_all || v_item.me;
            v_takers := v_takers || v_item.me;
            if v_item.stamps ?| array['gc.session_id', 'gc.session_name'] then v_sessions := v_sessions || v_item.names;
            else v_bare := v_bare || v_item.me; end if;
            v_grouped := v_item.id is null and v_seen.status = 'open' and coalesce(v_seen.metadata ->> 'gc.root_bead_id', '') <> ''
              and coalesce(v_seen.metadata ->> 'gc.continuation_group', '') <> '';
          end if;
          fetch v_items into v_item;
          exit when v_item.n is null or v_grouped or v_item.id = any (v_ids)
            or case when v_item.names = '{}' then v_item.me && v_all else v_item.me && v_bare or v_item.names && v_sessions end;
        end loop;
        v_left := cardinality(v_ids);
        for v_taken in
          with taken as (
            update beads b set
              status = 'in_progress',
              assignee = case when t.fresh then t.name else b.assignee end,
              claim_fence = b.claim_fence + t.fresh::integer, attempts = b.attempts + t.fresh::integer,
              lease_ms = t.lease_ms,
              lease_until = clock_timestamp() + t.lease_ms * interval '1 millisecond',
              metadata = case when t.fresh then b.metadata - array['gc.session_id', 'gc.session_name'] else b.metadata end || t.stamps,
              revision = b.revision + (t.fresh or not b.metadata @> t.stamps)::integer,
              updated_at = case when t.fresh or not b.metadata @> t.stamps then clock_timestamp() else b.updated_at end
${p.given}
            where b.stream_id = v_stream and b.id = t.id and b.revision = t.revision
            returning t.n, t.place, t.name, t.fresh, t.was, b.revision > t.revision as changed, b as bead
          )
          select k.*, bead_json(k.bead, e.dependencies, e.needs) as json
          from taken k cross join lateral bead_edges(v_stream, (k.bead).id) e order by k.place
        loop
          v_left := v_left - 1;
          if v_taken.changed then
            v_events := array_append(v_events,
${p.moved}
          end if;
          v_siblings := '{}';
          if v_grouped and v_taken.place = cardinality(v_ids) then
            for v_sibling in select s.* from take_siblings(v_taken.bead) s loop
              v_siblings := array_append(v_siblings, v_sibling.id);
${p.siblings}
            end loop;
          end if;
          ord := v_taken.n;
          outcome := case when not v_taken.fresh then 'existing' when v_taken.was is null then 'claimed' else 'assigned' end;
          result := json_build_object('bead', v_taken.json, 'fence', (v_taken.bead).claim_fence, 'lease_until', (v_taken.bead).lease_until,
            'lease_ms', (v_taken.bead).lease_ms, 'siblings', v_siblings);
          return next;
        end loop;
        if v_left > 0 then
          raise exception 'beads have changed behind the work lock' using errcode = 'serialization_failure';
        end if;
      end loop;
${p.appended}
      ord := -1;
      outcome := case when head is null then 'unmoved' else 'moved' end;
      if head is null then select s.head into head from event_streams s where s.id = v_stream; end if;
      result := null;
      return next;
    end $$`;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type new_event as (type text, version smallint, actor text, subject text, message text, payload json, run_id text, session_id text,
      step_id text, size integer)`.execute(db);
  await sql`create type new_claim as (n integer, id text, revision bigint, name text, fresh boolean, was text, lease_ms integer, stamps jsonb)`.execute(
    db,
  );
  await sql`
    create or replace function new_bead_event(p_type text, p_actor text, b beads, p_payload json) returns new_event
    language sql stable as $$
      select row(p_type, 1, p_actor, b.id, null, p_payload, bead_run_id(b.metadata, b.id), nullif(b.metadata ->> 'gc.session_id', ''),
        nullif(b.metadata ->> 'gc.step_id', ''), 200 + octet_length(p_payload::text))::new_event
    $$`.execute(db);
  await sql`
    create or replace function append_new(p_stream integer, p_events new_event[]) returns bigint
    language plpgsql as $$
    declare
      v_count constant integer := cardinality(p_events);
      v_head bigint;
      v_ts timestamptz;
    begin
      if v_count = 0 then return null; end if;
      perform pg_advisory_xact_lock(1, p_stream);
      update event_streams s set head = s.head + v_count, last_ts = greatest(clock_timestamp(), s.last_ts)
      where s.id = p_stream returning s.head, s.last_ts into v_head, v_ts;
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, size)
      select p_stream, v_head - v_count + e.n, v_ts, e.type, e.version, e.actor, e.subject, e.message, e.payload::jsonb, e.run_id, e.session_id, e.step_id,
             e.size
      from unnest(p_events) with ordinality e(type, version, actor, subject, message, payload, run_id, session_id, step_id, size, n);
      return v_head;
    end $$`.execute(db);
  await sql`
    create or replace function claimant(p_stream integer, p_text text, out name text, out route text, out me text[]) returns setof record
    language plpgsql stable strict rows 1 as $$
    declare
      v_slot text := '';
      v_base text;
    begin
      route := agent_address(p_stream, p_text);
      if route is null then
        v_slot := substring(p_text from '-[0-9]+$');
        route := agent_address(p_stream, left(p_text, -length(v_slot)));
        if route is null then
          select s.agent into route from session_names n join sessions s on s.pk = n.session_pk
          where n.stream_id = p_stream and n.name = p_text and n.kind = 'agent' and s.state <> 'closed'
            and agent_address(p_stream, s.agent) = s.agent;
          if route is null then return; end if;
          name := p_text;
          me := array[p_text];
          return next;
          return;
        end if;
      end if;
      name := route || v_slot;
      me := array[name];
      if p_text <> name then me := me || p_text; end if;
      v_base := substring(route from '[^/]*$');
      if v_base <> route and v_base || v_slot <> p_text and agent_address(p_stream, v_base) = route then me := me || (v_base || v_slot); end if;
      return next;
    end $$`.execute(db);
  await sql`
    create or replace function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
    language plpgsql immutable parallel safe as $$
    declare
      v_terms bigint[] := '{}';
      v_label text;
      v_pairs jsonb;
      v_pair jsonb;
    begin
      foreach v_label in array p_labels loop
        v_terms := v_terms || hashtextextended('l' || v_label, p_stream);
      end loop;
      if p_metadata = '{}' then return v_terms; end if;
      v_pairs := jsonb_path_query_array(p_metadata, '$.keyvalue()');
      for v_n in 0 .. jsonb_array_length(v_pairs) - 1 loop
        v_pair := v_pairs -> v_n;
        v_terms := v_terms || hashtextextended('m' || (v_pair ->> 'key') || '=' || (v_pair ->> 'value'), p_stream);
      end loop;
      return v_terms;
    end $$`.execute(db);
  await sql.raw(claimWork(NOW)).execute(db);
  await sql`drop function bead_event(text, text, text, beads)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function bead_event(p_stream text, p_type text, p_actor text, b beads) returns jsonb
    language sql stable as $$
      select jsonb_build_object('stream', p_stream, 'type', p_type, 'version', 1, 'actor', p_actor, 'subject', b.id,
        'run_id', bead_run_id(b.metadata, b.id), 'session_id', nullif(b.metadata ->> 'gc.session_id', ''), 'step_id', nullif(b.metadata ->> 'gc.step_id', ''))
    $$`.execute(db);
  await sql`
    create or replace function claimant(p_stream integer, p_text text, out name text, out route text, out me text[]) returns setof record
    language plpgsql stable rows 1 as $$
    declare
      v_slot text := '';
      v_base text;
    begin
      route := agent_address(p_stream, p_text);
      if route is null then
        v_slot := substring(p_text from '-[0-9]+$');
        route := agent_address(p_stream, left(p_text, -length(v_slot)));
        if route is null then
          select s.agent into route from session_names n join sessions s on s.pk = n.session_pk
          where n.stream_id = p_stream and n.name = p_text and n.kind = 'agent' and s.state <> 'closed'
            and agent_address(p_stream, s.agent) = s.agent;
          if route is null then return; end if;
          name := p_text;
          me := array[p_text];
          return next;
          return;
        end if;
      end if;
      name := route || v_slot;
      me := array[name];
      if p_text <> name then me := me || p_text; end if;
      v_base := substring(route from '[^/]*$');
      if v_base <> route and v_base || v_slot <> p_text and agent_address(p_stream, v_base) = route then me := me || (v_base || v_slot); end if;
      return next;
    end $$`.execute(db);
  await sql`
    create or replace function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
    language plpgsql immutable parallel safe as $$
    declare
      v_terms bigint[] := '{}';
      v_label text;
    begin
      foreach v_label in array p_labels loop
        v_terms := v_terms || hashtextextended('l' || v_label, p_stream);
      end loop;
      if p_metadata = '{}' then return v_terms; end if;
      return v_terms || array(select hashtextextended('m' || m.key || '=' || m.value, p_stream) from jsonb_each_text(p_metadata) m);
    end $$`.execute(db);
  await sql.raw(claimWork(BEFORE)).execute(db);
  await sql`drop function new_bead_event(text, text, beads, json)`.execute(db);
  await sql`drop function append_new(integer, new_event[])`.execute(db);
  await sql`drop type new_event`.execute(db);
  await sql`drop type new_claim`.execute(db);
}
