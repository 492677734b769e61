-- What an event about a bead of a run means for those who follow the run; null for all others. Only a run's bead has a run id that is
-- not its own, or the name of a formula.
create or replace function event_workflow(p_stream integer, p_seq bigint, p_ts timestamptz, p_type text, p_subject text, p_run text, p_payload jsonb)
returns json language plpgsql stable parallel safe as $$
declare
  v_bead jsonb;
  v_meta jsonb;
  v_rig text;
  v_city text;
  v_round text;
begin
  if p_type not like 'bead.%' or p_run is null then return null; end if;
  v_bead := p_payload -> 'bead';
  v_meta := v_bead -> 'metadata';
  if p_subject = p_run and not coalesce(v_meta ? 'gc.formula_name', false)
    or p_subject <> p_run and v_meta ->> 'gc.root_bead_id' is distinct from p_run then return null; end if;
  -- From the event alone: it says the same whenever and wherever it is read.
  v_rig := coalesce(v_bead ->> 'rig', '');
  select s.name into v_city from event_streams s where s.id = p_stream;
  v_round := v_meta ->> 'gc.attempt';
  return json_strip_nulls(json_build_object(
    'type', 'workflow.bead', 'workflow_id', p_run, 'root_bead_id', p_run,
    'scope_kind', case when v_rig = '' then 'city' else 'rig' end, 'scope_ref', case when v_rig = '' then v_city else v_rig end,
    'root_store_ref', case when v_rig = '' then 'city:' || v_city else 'rig:' || v_rig end,
    'watch_generation', p_stream::text, 'event_seq', p_seq, 'workflow_seq', p_seq,
    'event_ts', to_char(p_ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'event_type', p_type,
    'changed_fields', array[]::text[],
    'logical_node_id', coalesce(v_meta ->> 'gc.logical_bead_id', p_subject),
    'attempt_summary', case when v_round ~ '^[0-9]{1,9}$' then json_build_object('attempt_count', v_round::integer, 'active_attempt', v_round::integer) end,
    'requires_resync', case when p_type in ('bead.created', 'bead.deleted') then true end,
    'bead', json_build_object(
      'id', p_subject, 'title', v_bead ->> 'title', 'kind', coalesce(v_meta ->> 'gc.kind', v_bead ->> 'issue_type'),
      'metadata', coalesce(v_meta, '{}'), 'assignee', v_bead ->> 'assignee', 'step_ref', v_bead ->> 'ref',
      'scope_ref', v_meta ->> 'gc.scope_ref', 'logical_bead_id', v_meta ->> 'gc.logical_bead_id',
      'status', case v_bead ->> 'status'
        when 'closed' then case v_meta ->> 'gc.outcome' when 'fail' then 'failed' when 'skipped' then 'skipped' when 'canceled' then 'canceled' else 'completed' end
        when 'in_progress' then case when v_bead ? 'assignee' then 'active' else 'pending' end
        else case when v_bead -> 'is_blocked' = 'true' then 'blocked' else 'pending' end end)));
end $$;
