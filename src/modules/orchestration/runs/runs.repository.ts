import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Control } from '../formulas/compile/recipe.js';
import { hurryGatesOf } from './gates/hurry.js';
import { RUN } from './run-columns.js';
import type { NewRun, RunOutcome, RunRow } from './run-row.js';

/** SQL of who writes runs, under the city's work lock. */
@Injectable()
export class RunsRepository {
  constructor(private readonly db: Db) {}

  /** The bead that a source stands for: itself, or the only member of a convoy. Undefined for other convoys; whoever launches refuses what is not there. */
  async workBead(streamId: number, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ id: string | null }>`
      select case when b.issue_type <> 'convoy' then b.id else (
        select case when count(*) = 1 then min(d.depends_on_id) end from (
          select d.depends_on_id from bead_dependencies d
          where d.stream_id = b.stream_id and d.issue_id = b.id and d.type = 'tracks' limit 2) d) end as id
      from beads b where b.stream_id = ${streamId} and b.id = ${id}`.execute(this.db);
    return rows.length === 0 ? id : (rows[0]!.id ?? undefined);
  }

  async find(tx: Tx, streamId: number, id: string): Promise<RunRow | undefined> {
    const { rows } = await sql<RunRow>`select ${RUN} from runs r where r.stream_id = ${streamId} and r.id = ${id}`.execute(tx);
    return rows[0];
  }

  /** Runs of a source that have not ended, the oldest first. */
  async liveOf(tx: Tx, streamId: number, source: string): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`
      select ${RUN} from runs r where r.stream_id = ${streamId} and r.source_id = ${source} and r.outcome is null
      order by r.started_at, r.id`.execute(tx);
    return rows;
  }

  /** As `liveOf`, with the runs whose drains hold it for themselves. Each of both has an index, and an `or` would read all runs of the city. */
  async workingOn(tx: Tx, streamId: number, source: string): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`
      select ${RUN} from runs r
      where r.stream_id = ${streamId} and r.outcome is null and r.id in (
        select o.id from runs o where o.stream_id = ${streamId} and o.source_id = ${source} and o.outcome is null
        union select u.run_id from run_units u where u.stream_id = ${streamId} and u.member_id = ${source} and u.held)
      order by r.started_at, r.id`.execute(tx);
    return rows;
  }

  async insert(tx: Tx, streamId: number, run: NewRun): Promise<RunRow> {
    const { rows } = await sql<RunRow>`
      insert into runs as r (stream_id, id, formula, formula_sha256, compiler, root_only, launched_by, title, rig, target, source_id, convoy_id,
        vars, asked_by, steps, gates)
      values (${streamId}, ${run.id}, ${run.formula}, ${run.formula_sha256}, ${run.compiler}, ${run.root_only}, ${run.launched_by},
        ${run.title}, ${run.rig}, ${run.target}, ${run.source_id}, ${run.convoy_id}, ${JSON.stringify(run.vars)}::jsonb, ${run.asked_by === null ? null : [...run.asked_by]}::text[], ${run.steps}, ${run.gates})
      returning ${RUN}`.execute(tx);
    return rows[0]!;
  }

  async addControls(tx: Tx, streamId: number, run: string, controls: readonly { bead: string; control: Control }[]): Promise<void> {
    if (controls.length === 0) return;
    await sql`
      insert into run_controls (stream_id, run_id, bead_id, control)
      select ${streamId}, ${run}, c.bead, c.control from jsonb_to_recordset(${JSON.stringify(controls)}::jsonb) as c(bead text, control jsonb)`.execute(
      tx,
    );
    await sql`
      update run_controls c set armed_at = clock_timestamp(), due_at = gate_due(c.gate, c.control)
      from beads b
      where c.stream_id = ${streamId} and c.bead_id = any(${controls.map(({ bead }) => bead)}::text[]) and c.gate is not null
        and b.stream_id = c.stream_id and b.id = c.bead_id and bead_is_gate(b)`.execute(tx);
  }

  /** Ends a run that has not ended; undefined when it has. */
  async end(
    tx: Tx,
    streamId: number,
    id: string,
    { outcome, code, message }: { outcome: RunOutcome; code?: string | undefined; message?: string | undefined },
  ): Promise<RunRow | undefined> {
    const { rows } = await sql<RunRow>`
      with unasked as (${this.#unasked(streamId, id)})
      update runs r set outcome = ${outcome}, error_code = ${code ?? null}, error_message = ${message ?? null},
        cancel_requested_at = ${outcome === 'canceled' ? sql`clock_timestamp()` : sql`r.cancel_requested_at`},
        finished_at = clock_timestamp(), updated_at = clock_timestamp()
      where r.stream_id = ${streamId} and r.id = ${id} and r.outcome is null returning ${RUN}`.execute(tx);
    return rows[0];
  }

  /** Sessions that are at work on a run: at one of its steps, or at the bead that it is for. By their key. */
  async workingSessions(tx: Tx, streamId: number, { id, source_id: source }: RunRow): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      with held as (
        select b.assignee, b.metadata ->> 'gc.session_id' as id, b.metadata ->> 'gc.session_name' as name from beads b
        where b.stream_id = ${streamId} and (b.run_id = ${id} or b.id = ${source}) and b.status = 'in_progress')
      select s.pk from held h join sessions s on s.stream_id = ${streamId} and s.id = h.id
      union
      select n.session_pk from held h join session_names n on n.stream_id = ${streamId} and n.name in (h.name, h.assignee)
      where h.id is null and n.session_pk is not null
      order by pk`.execute(tx);
    return rows.map((row) => row.pk);
  }

  /** Runs that ended so long ago, the longest first. */
  async endedBefore(streamId: number, olderMs: number, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from runs where stream_id = ${streamId} and lane = 2 and updated_at < now() - ${olderMs} * interval '1 millisecond'
      order by updated_at limit ${limit}`.execute(this.db);
    return rows.map((row) => row.id);
  }

  /** Forgets a run. Gates that wait for it are due: what is not there does not come. */
  async remove(tx: Tx, streamId: number, id: string): Promise<void> {
    await this.#unasked(streamId, id).execute(tx);
    await hurryGatesOf(streamId, id).execute(tx);
    await tx.deleteFrom('run_units').where('stream_id', '=', streamId).where('run_id', '=', id).execute();
    await tx.deleteFrom('runs').where('stream_id', '=', streamId).where('id', '=', id).execute();
  }

  /** Nobody asks for the scripts of its checks any more. */
  #unasked(streamId: number, id: string): RawBuilder<unknown> {
    return sql`delete from run_checks where stream_id = ${streamId} and run_id = ${id}`;
  }

  /** Beads of a run but its root, in the order in which they were made; with `open` those that are not closed. */
  async members(tx: Tx, streamId: number, run: string, { open }: { open: boolean }): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b
      where b.stream_id = ${streamId} and b.run_id = ${run} and b.id <> ${run} and (${!open} or b.status <> 'closed')
      order by b.created_at, length(b.id), b.id`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Up to `limit` beads of a run but its root, those that were made last first. */
  async lastMembers(tx: Tx, streamId: number, run: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b where b.stream_id = ${streamId} and b.run_id = ${run} and b.id <> ${run}
      order by b.created_at desc, length(b.id) desc, b.id desc limit ${limit}`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** After a change that nobody has made who works on it. */
  async setUpdatedAt(tx: Tx, streamId: number, id: string, at: Date): Promise<void> {
    await tx.updateTable('runs').set({ updated_at: at }).where('stream_id', '=', streamId).where('id', '=', id).execute();
  }

  /** Whether the run has a gate that is not open, also one that it has yet to come to. */
  async isGated(tx: Tx, streamId: number, run: string): Promise<boolean> {
    const { rows } = await sql`
      select from beads b where b.stream_id = ${streamId} and b.run_id = ${run} and b.issue_type = 'gate' and b.status <> 'closed' limit 1`.execute(
      tx,
    );
    return rows.length === 1;
  }

  /** Whether all parts of a step are closed; undefined when it has none. */
  async partsDone(tx: Tx, streamId: number, run: string, step: string): Promise<boolean | undefined> {
    const { rows } = await sql<{ done: boolean | null }>`
      select bool_and(b.status = 'closed') as done from beads b
      where b.stream_id = ${streamId} and b.parent = ${step} and b.run_id = ${run}`.execute(tx);
    return rows[0]?.done ?? undefined;
  }

  /** Steps of a run that wait for `id`, directly or through others, and are not closed. */
  async behind(tx: Tx, streamId: number, run: string, id: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive after (id) as (
        select d.issue_id from bead_dependencies d where d.stream_id = ${streamId} and d.depends_on_id = ${id} and d.blocking
        union
        select d.issue_id from after a join bead_dependencies d on d.stream_id = ${streamId} and d.depends_on_id = a.id and d.blocking
          join beads b on b.stream_id = d.stream_id and b.id = a.id and b.run_id = ${run})
      select b.id from after a join beads b on b.stream_id = ${streamId} and b.id = a.id
      where b.run_id = ${run} and b.id <> ${run} and b.status <> 'closed' order by b.id`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Whether a step of the run has failed: the first that did. */
  async failed(tx: Tx, streamId: number, run: string): Promise<{ id: string; title: string; reason: string | null } | undefined> {
    const { rows } = await sql<{ id: string; title: string; reason: string | null }>`
      select b.id, b.title, coalesce(b.metadata ->> 'gc.failure_reason', b.metadata ->> 'close_reason') as reason from beads b
      where b.stream_id = ${streamId} and b.run_id = ${run} and b.id <> ${run} and b.status = 'closed' and b.metadata ->> 'gc.outcome' = 'fail'
      order by b.closed_at, b.id limit 1`.execute(tx);
    return rows[0];
  }
}
