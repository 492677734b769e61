-- An item of append_events about a bead, without its payload.
create or replace function bead_event(p_stream text, p_type text, p_actor text, b beads) returns jsonb
language sql stable as $$
  select jsonb_build_object('stream', p_stream, 'type', p_type, 'version', 1, 'actor', p_actor, 'subject', b.id,
    'run_id', bead_run_id(b.metadata, b.id), 'session_id', nullif(b.metadata ->> 'gc.session_id', ''), 'step_id', nullif(b.metadata ->> 'gc.step_id', ''))
$$;
