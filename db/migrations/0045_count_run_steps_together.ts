import { sql, type Kysely } from 'kysely';

/**
 * Counts what one statement does to the steps of a run once, not once a step: a failure may close thousands of them, and each
 * version of the run's row is one more to be looked through for the next. The clocks of rounds start and stop with it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_run_stepped on beads`.execute(db);
  await sql`drop trigger beads_run_left on beads`.execute(db);
  await sql`drop function count_run_step`.execute(db);
  await sql`
    create function count_run_steps() returns trigger language plpgsql as $$
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
      -- The first step of a round that is begun starts its clock, for all of its steps; each stops it for itself.
      update run_steps s set due_at = clock_timestamp() + s.limit_ms * interval '1 millisecond'
      from after_rows a join run_steps f on f.stream_id = a.stream_id and f.bead_id = a.id
      where a.run_id is not null and a.status = 'in_progress' and f.limit_ms is not null and f.due_at is null
        and s.stream_id = f.stream_id and s.run_id = f.run_id and s.made_by = f.made_by and s.round = f.round and s.due_at is null
        and not exists (select from beads o where o.stream_id = s.stream_id and o.id = s.bead_id and o.status = 'closed');
      update run_steps s set due_at = null from after_rows a
      where a.run_id is not null and a.status = 'closed' and s.stream_id = a.stream_id and s.bead_id = a.id and s.due_at is not null;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger beads_run_stepped after update on beads referencing old table as before_rows new table as after_rows
      for each statement execute function count_run_steps()`.execute(db);
  await sql`
    create function uncount_run_steps() returns trigger language plpgsql as $$
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
    end $$`.execute(db);
  await sql`
    create trigger beads_run_left after delete on beads referencing old table as before_rows
      for each statement execute function uncount_run_steps()`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_run_stepped on beads`.execute(db);
  await sql`drop trigger beads_run_left on beads`.execute(db);
  await sql`drop function count_run_steps, uncount_run_steps`.execute(db);
  await sql`
    create function count_run_step() returns trigger language plpgsql as $$
    begin
      update runs r set
        steps = r.steps - (tg_op = 'DELETE')::integer,
        active = r.active - (old.status = 'in_progress')::integer + (tg_op = 'UPDATE' and new.status = 'in_progress')::integer,
        closed = r.closed - (old.status = 'closed')::integer + (tg_op = 'UPDATE' and new.status = 'closed')::integer,
        gates = r.gates - bead_is_gate(old)::integer + (tg_op = 'UPDATE' and bead_is_gate(new))::integer,
        updated_at = clock_timestamp()
      where r.stream_id = old.stream_id and r.id = old.run_id and (r.root_only or r.id <> old.id);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger beads_run_stepped after update of status, open_blockers, issue_type on beads for each row
      when (old.run_id is not null and (old.status <> new.status or bead_is_gate(old) <> bead_is_gate(new)))
      execute function count_run_step()`.execute(db);
  await sql`
    create trigger beads_run_left after delete on beads for each row when (old.run_id is not null)
      execute function count_run_step()`.execute(db);
}
