import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import { DECIDED, keys } from './bead-columns.js';

/** What somebody else has under way, or what a run has to pass (a gate, a step that it decides), whoever that is assigned to. */
export interface Held {
  readonly id: string;
  readonly assignee: string | null;
  readonly gate: boolean;
}

/** The same, of what waits for `behind`. */
export interface HeldBehind extends Held {
  readonly behind: string;
}

/** SQL of writers about what others than the caller have to do with: what they have under way, and what runs go on with. */
export class HeldRepository {
  /**
   * The first bead that others than `names` have under way, or gate that its run waits at, and that one of `ids` would block again. From what is under way, what is armed,
   * and what their runs have, of which each is looked up: that is less than what depends on them.
   */
  async heldBehind(tx: Tx, streamId: number, ids: readonly string[], names: readonly string[]): Promise<HeldBehind | undefined> {
    const { rows } = await sql<HeldBehind>`
      select b.id, b.assignee, k.gate, b.behind from (
        select o.id, false as gate from beads o
        where o.stream_id = ${streamId} and o.status = 'in_progress' and o.assignee <> all(${[...names]}::text[])
        union all
        select g.id, true from (
          select distinct t.stream_id, t.run_id from ${keys(streamId, ids)} join beads t on t.stream_id = k.stream_id and t.id = k.id) t
        join beads g on g.stream_id = t.stream_id and g.run_id = t.run_id where bead_is_gate(g)
        union all
        select c.bead_id, true from run_controls c where c.stream_id = ${streamId} and c.armed_at is not null) k
      cross join lateral (
        select b.id, b.assignee, d.depends_on_id as behind from bead_dependencies d join beads b on b.stream_id = d.stream_id and b.id = d.issue_id
        where d.stream_id = ${streamId} and d.issue_id = k.id and d.depends_on_id = any(${[...ids]}::text[]) and d.blocking limit 1) b
      order by b.id, k.gate limit 1`.execute(tx);
    return rows[0];
  }

  /**
   * What would end with the run that a bead is the root of, or those that end with it: the first that others than `names` have under way, or a gate that the run is
   * at. Where the run would end as completed (`passes`), also what it has yet to pass: a gate that it is not at yet, or a step that it decides.
   */
  async heldWithin(tx: Tx, streamId: number, id: string, names: readonly string[], passes: boolean): Promise<Held | undefined> {
    const { rows } = await sql<Held>`
      select b.id, b.assignee, k.gate from runs r join beads b on b.stream_id = r.stream_id and b.run_id = r.id and b.id <> ${id}
      cross join lateral (select bead_is_gate(b) or ${passes} and r.id = ${id} and (b.issue_type = 'gate' or exists (
        select from run_steps s where s.stream_id = b.stream_id and s.bead_id = b.id and ${DECIDED})) as gate) k
      where r.stream_id = ${streamId} and r.outcome is null and r.id in (
          select ${id}
          union select s.id from runs s
          where s.stream_id = ${streamId} and s.source_id = ${id} and s.outcome is null and s.gates = 0 and (s.compiler = 1 or s.root_only))
        and b.status <> 'closed' and ((b.status = 'in_progress' and b.assignee <> all(${[...names]}::text[])) or k.gate)
      order by b.id limit 1`.execute(tx);
    return rows[0];
  }

  /** Those of these beads that are steps which their runs, which go on, decide themselves. */
  async decidedAmong(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select s.bead_id as id from run_steps s join runs r on r.stream_id = s.stream_id and r.id = s.run_id and r.outcome is null
      where s.stream_id = ${streamId} and s.bead_id = any(${[...ids]}::text[]) and ${DECIDED}
      order by s.bead_id`.execute(tx);
    return rows.map(({ id }) => id);
  }

  async goesOn(tx: Tx, streamId: number, run: string): Promise<boolean> {
    const { rows } = await sql`select from runs where stream_id = ${streamId} and id = ${run} and outcome is null`.execute(tx);
    return rows.length === 1;
  }

  async hasLiveRun(tx: Tx, streamId: number, id: string): Promise<boolean> {
    const { rows } = await sql`select from runs where stream_id = ${streamId} and source_id = ${id} and outcome is null limit 1`.execute(
      tx,
    );
    return rows.length === 1;
  }

  /** Whether the lease of a bead goes on. Heartbeats take the lock of its row alone. */
  async lockLease(tx: Tx, streamId: number, id: string): Promise<boolean> {
    const { rows } = await sql<{ live: boolean }>`
      select coalesce(b.lease_until > clock_timestamp(), false) as live from beads b where b.stream_id = ${streamId} and b.id = ${id} for update`.execute(
      tx,
    );
    return rows[0]?.live === true;
  }
}
