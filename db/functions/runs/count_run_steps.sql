-- Trigger of beads: what a run is at, whoever changes its beads. Once a statement, not once a step: a failure may close thousands of
-- them, and each version of the run's row is one more to be looked through for the next. The clocks of rounds start and stop with it.
create or replace function count_run_steps() returns trigger language plpgsql as $$
begin
  if not exists (select from after_rows a where a.run_id is not null) then return null; end if;
  -- Sums of both sides, not of pairs: a plan that was made for one row would compare each of a thousand with each.
  update runs r set active = r.active + d.active, closed = r.closed + d.closed, gates = r.gates + d.gates, updated_at = clock_timestamp()
  from (
    select b.stream_id, b.run_id, b.id = b.run_id as is_root, sum(b.sign * (b.status = 'in_progress')::integer)::integer as active,
      sum(b.sign * (b.status = 'closed')::integer)::integer as closed, sum(b.sign * b.gate::integer)::integer as gates
    from (
      select a.stream_id, a.run_id, a.id, a.status, bead_is_gate(a) as gate, 1 as sign from after_rows a where a.run_id is not null
      union all
      select o.stream_id, o.run_id, o.id, o.status, bead_is_gate(o), -1 from before_rows o where o.run_id is not null) b
    group by 1, 2, 3) d
  where r.stream_id = d.stream_id and r.id = d.run_id and (r.root_only or not d.is_root) and (d.active, d.closed, d.gates) <> (0, 0, 0);
  -- The first step of a round that is begun starts its clock, for all of its steps, and so does what a step of it has made; each stops it for itself.
  with recursive begun as (
    select f.* from after_rows a join run_steps f on f.stream_id = a.stream_id and f.bead_id = a.id
    where a.run_id is not null and a.status = 'in_progress' and (f.limit_ms is not null or f.within is not null)
    union
    select f.* from begun b join run_steps f on f.stream_id = b.stream_id and f.bead_id = b.within)
  update run_steps s set due_at = clock_timestamp() + s.limit_ms * interval '1 millisecond'
  from (select distinct b.stream_id, b.run_id, b.made_by, b.round from begun b where b.limit_ms is not null and b.due_at is null) f
  where s.stream_id = f.stream_id and s.run_id = f.run_id and s.made_by = f.made_by and s.round = f.round and s.due_at is null
    and not exists (select from beads o where o.stream_id = s.stream_id and o.id = s.bead_id and o.status = 'closed');
  update run_steps s set due_at = null from after_rows a
  where a.run_id is not null and a.status = 'closed' and s.stream_id = a.stream_id and s.bead_id = a.id and s.due_at is not null;
  return null;
end $$;
