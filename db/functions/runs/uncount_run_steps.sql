-- Trigger of beads: steps that are deleted count no more for their run. Once a statement.
create or replace function uncount_run_steps() returns trigger language plpgsql as $$
begin
  update runs r set steps = r.steps - d.steps, active = r.active - d.active, closed = r.closed - d.closed, gates = r.gates - d.gates,
    updated_at = clock_timestamp()
  from (
    select b.stream_id, b.run_id as id, count(*)::integer as steps, count(*) filter (where b.status = 'in_progress')::integer as active,
      count(*) filter (where b.status = 'closed')::integer as closed, count(*) filter (where bead_is_gate(b))::integer as gates
    from before_rows b join runs r on r.stream_id = b.stream_id and r.id = b.run_id and (r.root_only or r.id <> b.id)
    where b.run_id is not null group by b.stream_id, b.run_id) d
  where r.stream_id = d.stream_id and r.id = d.id;
  return null;
end $$;
