-- An item of append_new about a bead.
create or replace function new_bead_event(p_type text, p_actor text, b beads, p_payload json) returns new_event
language sql stable as $$
  select row(p_type, 1, p_actor, b.id, null, p_payload, bead_run_id(b.metadata, b.id), nullif(b.metadata ->> 'gc.session_id', ''),
    nullif(b.metadata ->> 'gc.step_id', ''), 200 + octet_length(p_payload::text))::new_event
$$;
