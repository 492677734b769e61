import { sql, type Kysely } from 'kysely';

/** What is another in `claim_work` before and after. */
type Parts = Readonly<Record<'drained' | 'labels', string>>;

/**
 * Whether a drain has a bead for itself was asked ahead of a claim: a drain that came in between had its member begun by a session. The claim itself refuses it, for
 * whoever says so. The release before does not say so, and goes on asking ahead.
 */
const NOW: Parts = {
  drained: `            elsif (v_seen.status = 'open' or v_seen.assignee is null) and v_item.v -> 'undrained' = 'true'
              and exists (select from unnest(v_seen.labels) l where starts_with(l, 'hold:drain:')) then
              outcome := 'drained';
`,
  labels: `'labels', v_seen.labels, `,
};

const BEFORE: Parts = { drained: '', labels: '' };

const claimWork = (p: Parts): string => `
    create or replace function claim_work(p_city text, p_items jsonb)
    returns table (ord integer, outcome text, result json, head bigint)
    language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
    #variable_conflict use_column
    declare
      v_stream integer;
      v_items cursor for
        with given as materialized (
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
               count(*) over (partition by i.v ? 'bead', w.route) as rivals,
               not i.v ? 'bead' and (
                 select true from unnest(w.me) m(name) cross join lateral (
                   select from beads b where b.stream_id = v_stream and b.assignee = m.name and b.status <> 'closed'
                   order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit 1) b limit 1) as has_work,
               not i.v ? 'bead' and w.name <> w.route and (
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
        order by i.v ? 'bead' desc, case when not i.v ? 'bead' then w.route end, i.n;
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
      v_takes new_claim[];
      v_ids text[];
      v_all text[];
      v_bare text[];
      v_sessions text[];
      -- names of all that have taken something
      v_takers text[] := '{}';
      v_left integer;
      v_events new_event[] := '{}';
    begin
      select stream_id into v_stream from cities where name = p_city and running;
      if v_stream is null or not begin_work(v_stream) then
        return query select 0, 'not_running', null::json, null::bigint;
        return;
      end if;
      open v_items;
      fetch v_items into v_item;
      while v_item.n is not null loop
        v_takes := '{}'; v_ids := '{}'; v_all := '{}'; v_bare := '{}'; v_sessions := '{}'; v_grouped := false; v_current := false;
        loop
          ord := v_item.n;
          outcome := null;
          result := null;
          v_seen := null;
          if v_item.id is not null then
            select b.* into v_seen from beads b where b.stream_id = v_stream and b.id = v_item.id;
            if v_seen.status = 'in_progress' and v_seen.lease_until <= now() then
              select b.* into v_seen from beads b where b.stream_id = v_stream and b.id = v_item.id for update;
            end if;
            if v_seen.id is null then
              outcome := 'not_found';
            elsif v_seen.assignee is not null and not bead_is_mine(v_seen, v_item.me, v_item.names) then
              outcome := case when v_seen.status = 'closed' then 'closed' else 'owned' end;
              v_events := array_append(v_events, new_bead_event('bead.claim_rejected', v_item.name, v_seen,
                json_build_object('bead_id', v_seen.id, 'existing_claimant', v_seen.assignee, 'attempted_claimant', v_item.name)));
            elsif v_seen.status = 'closed' then
              outcome := 'closed';
${p.drained}            elsif (v_seen.status = 'open' or v_seen.assignee is null) and v_item.v -> 'force' is distinct from 'true'
              and not (v_seen.workable and v_seen.open_blockers = 0 and coalesce(v_seen.defer_until <= now(), true)) then
              outcome := 'unready';
            end if;
            if outcome is not null and v_seen.id is not null then
              result := json_build_object('owner', v_seen.assignee, 'issue_type', v_seen.issue_type, 'workable', v_seen.workable,
                ${p.labels}'defer_until', v_seen.defer_until, 'blockers', array(
                  select d.depends_on_id from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
                  where d.stream_id = v_stream and d.issue_id = v_seen.id and d.blocking and t.status <> 'closed' order by d.depends_on_id));
            end if;
          elsif v_item.route is null then
            outcome := 'unknown_agent';
          else
            if v_item.route is distinct from v_route then
              v_route := v_item.route; v_queue := '{}'; v_at := 1; v_wanted := v_item.rivals; v_last_at := '-infinity'; v_last_id := '';
            end if;
            while v_item.has_work or v_item.me && v_takers loop
              select o.* into v_seen from unnest(v_item.me) m(name) cross join lateral (
                select b.* from beads b
                where b.stream_id = v_stream and b.assignee = m.name and b.status <> 'closed' and bead_is_doable(b)
                  and bead_is_mine(b, v_item.me, v_item.names) and b.id <> all (v_ids)
                order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit 1
              ) o
              order by o.status, coalesce(o.priority, 2), o.created_at, o.id limit 1;
              exit when v_seen.id is null or v_seen.status = 'open' or v_seen.lease_until > now() or v_seen.lease_until is null;
              select b.* into v_seen from beads b where b.stream_id = v_stream and b.id = v_seen.id for update;
              exit when bead_is_mine(v_seen, v_item.me, v_item.names);
            end loop;
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
            v_ids := array_append(v_ids, v_seen.id);
            -- Another session of the same owner, which may take it once the lease has ended, takes it from the one before.
            v_takes := array_append(v_takes, row(ord, v_seen.id, v_seen.revision, v_item.name,
              v_seen.status = 'open' or v_seen.assignee is null or v_item.names <> '{}'
                and coalesce(v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name', '') <> ''
                and not array[v_seen.metadata ->> 'gc.session_id', v_seen.metadata ->> 'gc.session_name'] && v_item.names,
              v_seen.assignee, (v_item.v ->> 'lease_ms')::integer, v_item.stamps)::new_claim);
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
            from unnest(v_takes) with ordinality t(n, id, revision, name, fresh, was, lease_ms, stamps, place)
            where b.stream_id = v_stream and b.id = t.id and b.revision = t.revision
            returning t.n, t.place, t.name, t.fresh, t.was, b.revision > t.revision as changed, b as bead
          )
          select k.*, bead_json(k.bead, e.dependencies, e.needs) as json
          from taken k cross join lateral bead_edges(v_stream, (k.bead).id) e order by k.place
        loop
          v_left := v_left - 1;
          if v_taken.changed then
            v_events := array_append(v_events,
              new_bead_event('bead.updated', v_taken.name, v_taken.bead, json_build_object('bead', v_taken.json)));
          end if;
          if v_taken.fresh and (v_taken.bead).metadata ->> 'gc.formula_contract' = 'graph.v2' and (v_taken.bead).metadata ->> 'gc.step_id' <> '' then
            v_events := array_append(v_events, new_bead_event('execution.step_started', v_taken.name, v_taken.bead, '{}'));
          end if;
          v_siblings := '{}';
          if v_grouped and v_taken.place = cardinality(v_ids) then
            for v_sibling in select s.* from take_siblings(v_taken.bead) s loop
              v_siblings := array_append(v_siblings, v_sibling.id);
              v_events := array_append(v_events, new_bead_event('bead.updated', v_taken.name, v_sibling, json_build_object('bead', (
                select bead_json(v_sibling, d.dependencies, d.needs) from bead_edges(v_stream, v_sibling.id) d))));
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
      head := append_new(v_stream, v_events);
      ord := -1;
      outcome := case when head is null then 'unmoved' else 'moved' end;
      if head is null then select s.head into head from event_streams s where s.id = v_stream; end if;
      result := null;
      return next;
    end $$;`;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(claimWork(NOW)).execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql.raw(claimWork(BEFORE)).execute(db);
}
