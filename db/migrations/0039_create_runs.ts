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
  // What an event about a bead of a run means for those who follow the run; null for all others. Only a run's bead has a run id that is
  // not its own, or the name of a formula.
  await sql`
    create function event_workflow(p_stream integer, p_seq bigint, p_ts timestamptz, p_type text, p_subject text, p_run text, p_payload jsonb)
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
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function event_workflow`.execute(db);
  await sql`drop trigger beads_run_left on beads`.execute(db);
  await sql`drop trigger beads_run_stepped on beads`.execute(db);
  await sql`drop function count_run_step`.execute(db);
  await sql`drop function bead_is_gate`.execute(db);
  await sql`alter table beads drop column run_id`.execute(db);
  await sql`drop table run_counts, runs`.execute(db);
  await sql`drop function count_run`.execute(db);
}
