-- Trigger of beads: a gate of a run is armed while it is what is waited for. From then on its time runs.
create or replace function arm_gate() returns trigger language plpgsql as $$
begin
  update run_controls c set
    armed_at = case when bead_is_gate(new) then clock_timestamp() end,
    due_at = case when bead_is_gate(new) then gate_due(c.gate, c.control) end
  where c.stream_id = new.stream_id and c.bead_id = new.id and c.gate is not null;
  return null;
end $$;
