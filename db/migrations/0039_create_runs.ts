import { sql, type Kysely } from 'kysely';

/**
 * Runs of formulas: one row a run, beside the beads that it consists of. What a run is at is counted where beads change, so it is
 * the same whoever changes them, and nobody has to look at its beads to tell; so are the numbers of runs, by formula and status.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table runs (
      stream_id integer not null references event_streams (id),
      id text collate "C" not null,
      formula text collate "C" not null,
      formula_sha256 text not null,
      compiler smallint not null check (compiler in (1, 2)),
      root_only boolean not null,
      launched_by text not null check (launched_by in ('sling', 'order', 'molecule')),
      title text not null,
      rig text collate "C" not null default '',
      target text,
      source_id text collate "C",
      convoy_id text collate "C",
      vars jsonb not null default '{}',
      steps integer not null check (steps >= 0),
      active integer not null default 0 check (active >= 0),
      closed integer not null default 0 check (closed >= 0),
      gates integer not null default 0 check (gates >= 0),
      cancel_requested_at timestamptz,
      outcome text check (outcome in ('pass', 'fail', 'skipped', 'canceled')),
      error_code text,
      error_message text,
      started_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      finished_at timestamptz,
      status text not null generated always as (
        case
          when outcome = 'fail' then 'failed'
          when outcome = 'skipped' then 'skipped'
          when outcome = 'canceled' then 'canceled'
          when outcome is not null then 'completed'
          when cancel_requested_at is not null then 'canceling'
          when gates > 0 then 'waiting'
          when active + closed = 0 then 'pending'
          else 'active'
        end) stored,
      lane smallint not null generated always as (case when outcome is not null then 2 when cancel_requested_at is null and gates > 0 then 1 else 0 end) stored,
      constraint runs_pkey primary key (stream_id, id),
      constraint runs_check check ((finished_at is not null) = (outcome is not null))
    )`.execute(db);
  await sql`create unique index runs_live_key on runs (stream_id, source_id, formula) where source_id is not null and outcome is null`.execute(
    db,
  );
  await sql`create index runs_listed_idx on runs (stream_id, lane, updated_at desc, id desc)`.execute(db);
  await sql`create index runs_formula_idx on runs (stream_id, rig, formula, updated_at desc, id desc)`.execute(db);
  await sql`create index runs_feed_idx on runs (stream_id, rig, status, updated_at desc, id desc) where compiler = 2`.execute(db);
  await sql`
    create table run_counts (
      stream_id integer not null references event_streams (id),
      rig text collate "C" not null,
      formula text collate "C" not null,
      status text not null,
      runs bigint not null check (runs >= 0),
      constraint run_counts_pkey primary key (stream_id, rig, formula, status)
    )`.execute(db);
  await sql`
    create function count_run() returns trigger language plpgsql as $$
    begin
      if tg_op <> 'INSERT' then
        update run_counts c set runs = c.runs - 1
        where (c.stream_id, c.rig, c.formula, c.status) = (old.stream_id, old.rig, old.formula, old.status);
      end if;
      if tg_op <> 'DELETE' then
        insert into run_counts as c values (new.stream_id, new.rig, new.formula, new.status, 1)
        on conflict (stream_id, rig, formula, status) do update set runs = c.runs + 1;
      end if;
      return null;
    end $$`.execute(db);
  await sql`create trigger runs_counted after insert or delete on runs for each row execute function count_run()`.execute(db);
  await sql`
    create trigger runs_recounted after update on runs for each row when (old.status is distinct from new.status)
      execute function count_run()`.execute(db);

  await sql`alter table beads add column run_id text collate "C"`.execute(db);
  await sql`create index beads_run_idx on beads (stream_id, run_id, created_at) where run_id is not null`.execute(db);
  await sql`
    create function bead_is_gate(b beads) returns boolean language sql immutable as $$
      select b.issue_type = 'gate' and b.status <> 'closed' and b.open_blockers = 0
    $$`.execute(db);
  // Whoever makes steps writes their number himself: it comes with the row of the run, or with many steps at once.
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

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_run_left on beads`.execute(db);
  await sql`drop trigger beads_run_stepped on beads`.execute(db);
  await sql`drop function count_run_step`.execute(db);
  await sql`drop function bead_is_gate`.execute(db);
  await sql`alter table beads drop column run_id`.execute(db);
  await sql`drop table run_counts, runs`.execute(db);
  await sql`drop function count_run`.execute(db);
}
