-- Writes to the logs of several sessions in one transaction. p_sessions and the arrays beside it have one item a session;
-- p_written counts its entries, p_output says whether one of them is output. Those of entries have one an entry: w is the
-- number of its session in p_sessions, n its own number in that session, both from 1. An entry whose id is there already is
-- changed in its place; each takes the next position, and the first that it had is its place. One row comes back for each
-- session that was written to; with p_fenced none for a session whose generation is another or that no runner holds.
-- Arrays, because Postgres reads them twice as fast as JSON.
--
-- Sessions are given in the order of their pk, in which their logs are locked. Whether a session is still held is asked by
-- a statement after the lock: its snapshot is newer, so whoever took the session away meanwhile is seen.
--
-- Plans are made once, perhaps for empty tables, where any way looks as good: joins are such that each session and each
-- entry is found by its key.
create or replace function append_session_logs(p_fenced boolean, p_sessions bigint[], p_generations bigint[], p_epochs integer[],
  p_activities text[], p_models text[], p_used bigint[], p_windows bigint[], p_written integer[], p_output boolean[],
  e_w integer[], e_n integer[], e_id text[], e_kind text[], e_role text[], e_status text[], e_blocks text[], e_raw text[],
  e_model text[], e_parent text[], e_turn bigint[])
returns table (pk bigint, head bigint)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  v_heads bigint[];
  v_turns bigint[];
begin
  select array_agg(k.head order by u.i), array_agg(k.turns order by u.i) into v_heads, v_turns
  from unnest(p_sessions, p_generations) with ordinality as u(pk, generation, i)
  left join lateral (
    select l.head, l.turns from session_logs l
    where l.session_pk = u.pk and (not p_fenced or l.generation = u.generation) for update
  ) k on true;
  if p_fenced then
    select array_agg(case when k.held then v_heads[u.i] end order by u.i) into v_heads
    from unnest(p_sessions, p_generations) with ordinality as u(pk, generation, i)
    left join lateral (
      select true as held from sessions s where s.pk = u.pk and s.generation = u.generation and s.runner_id is not null offset 0
    ) k on true;
  end if;
  return query
  with put as (
    insert into session_entries as o (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks, raw, model,
      parent_tool_use_id)
    select p_sessions[e.w], v_heads[e.w] + e.n, v_heads[e.w] + e.n, coalesce(e.id, 'note.' || (v_heads[e.w] + e.n)), p_epochs[e.w],
           p_generations[e.w], coalesce(e.turn, v_turns[e.w]), e.kind, e.role, e.status, e.blocks::jsonb, e.raw::jsonb, e.model, e.parent
    from unnest(e_w, e_n, e_id, e_kind, e_role, e_status, e_blocks, e_raw, e_model, e_parent, e_turn)
      as e(w, n, id, kind, role, status, blocks, raw, model, parent, turn)
    where v_heads[e.w] is not null
    on conflict (session_pk, entry_id) do update set rev = excluded.rev, generation = excluded.generation, role = excluded.role,
      status = excluded.status, blocks = excluded.blocks, raw = excluded.raw, model = coalesce(excluded.model, o.model),
      parent_tool_use_id = coalesce(excluded.parent_tool_use_id, o.parent_tool_use_id)
    returning session_pk, kind, xmax = 0 as fresh
  ), fresh as (
    select p.session_pk, count(*) as entries, count(*) filter (where p.kind = 'compaction') as compactions
    from put p where p.fresh group by p.session_pk
  ), said as (
    select u.*, v_heads[u.i] + u.written as upto, coalesce(f.entries, 0) as entries, coalesce(f.compactions, 0) as compactions
    from unnest(p_sessions, p_activities, p_models, p_used, p_windows, p_written, p_output) with ordinality
      as u(pk, activity, model, used, size, written, output, i)
    left join fresh f on f.session_pk = u.pk
    where v_heads[u.i] is not null
  )
  update session_logs l set
    head = u.upto + case when u.activity <> l.activity then 1 else 0 end,
    entries = l.entries + u.entries,
    compactions = l.compactions + u.compactions,
    activity = coalesce(u.activity, l.activity),
    activity_rev = case when u.activity <> l.activity then u.upto + 1 else l.activity_rev end,
    activity_at = case when u.activity <> l.activity then clock_timestamp() else l.activity_at end,
    last_output_at = case when u.output then clock_timestamp() else l.last_output_at end,
    model = coalesce(u.model, l.model), context_used = coalesce(u.used, l.context_used),
    context_window = coalesce(u.size, l.context_window)
  from said u
  where l.session_pk = any (p_sessions) and l.session_pk = u.pk
  returning l.session_pk, l.head;
end $$;
