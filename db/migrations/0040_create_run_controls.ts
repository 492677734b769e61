import { sql, type Kysely } from 'kysely';

/**
 * What a run does about some of its steps beside waiting for them. A gate is armed while it is what is waited for: from then on its time
 * runs, and what opens it is looked for. `due_at` says when it is looked at next.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_controls (
      stream_id integer not null,
      bead_id text collate "C" not null,
      run_id text collate "C" not null,
      control jsonb not null,
      gate text generated always as (case when control ->> 'kind' = 'gate' then control ->> 'type' end) stored,
      awaited text generated always as (case when control ->> 'kind' = 'gate' then control ->> 'id' end) stored,
      armed_at timestamptz,
      due_at timestamptz,
      constraint run_controls_pkey primary key (stream_id, bead_id),
      constraint run_controls_bead_fkey foreign key (stream_id, bead_id) references beads (stream_id, id) on delete cascade
    )`.execute(db);
  await sql`create index run_controls_awaited_idx on run_controls (stream_id, gate, awaited) where armed_at is not null`.execute(db);
  await sql`create index run_controls_due_idx on run_controls (due_at) where due_at is not null`.execute(db);
  await sql`
    create function gate_due(p_gate text, p_control jsonb) returns timestamptz language sql stable as $$
      select case when p_gate = 'run' then clock_timestamp()
        else clock_timestamp() + (p_control ->> 'timeout_ms')::double precision * interval '1 millisecond' end
    $$`.execute(db);
  await sql`
    create function arm_gate() returns trigger language plpgsql as $$
    begin
      update run_controls c set
        armed_at = case when bead_is_gate(new) then clock_timestamp() end,
        due_at = case when bead_is_gate(new) then gate_due(c.gate, c.control) end
      where c.stream_id = new.stream_id and c.bead_id = new.id and c.gate is not null;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger beads_gate_armed after update of status, open_blockers, issue_type on beads for each row
      when (old.run_id is not null and bead_is_gate(old) <> bead_is_gate(new))
      execute function arm_gate()`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_gate_armed on beads`.execute(db);
  await sql`drop function arm_gate`.execute(db);
  await sql`drop table run_controls`.execute(db);
  await sql`drop function gate_due`.execute(db);
}
