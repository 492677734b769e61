import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import { keys, RECORD } from './bead-columns.js';
import { SKIPPED_FOR, type BeadRecord, type Edge, type LeftOut } from './bead-record.js';

export interface PutEdges {
  readonly changed: number;
  readonly added: number;
  readonly known: number;
}

/** SQL of writers about what leads from bead to bead: edges, the open blockers that dependents count, and the fan-outs that tell them. */
export class EdgesRepository {
  /** Dependents of beads that have been closed, as they are before `releaseAll`. */
  async releasable(tx: Tx, streamId: number, ids: readonly string[]): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      select ${RECORD} from beads b where b.stream_id = ${streamId} and b.id in (
        select d.issue_id from ${keys(streamId, ids)} join bead_dependencies d on d.stream_id = k.stream_id and d.depends_on_id = k.id
        where d.blocking)`.execute(tx);
    return rows;
  }

  /** Takes beads that have been closed off the blockers of their dependents. */
  async releaseAll(tx: Tx, streamId: number, ids: readonly string[]): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      update beads b set open_blockers = b.open_blockers - f.n, revision = b.revision + (b.open_blockers = f.n)::int,
        updated_at = case when b.open_blockers = f.n then clock_timestamp() else b.updated_at end
      from (
        select d.issue_id, count(*)::integer as n from ${keys(streamId, ids)}
        join bead_dependencies d on d.stream_id = k.stream_id and d.depends_on_id = k.id where d.blocking group by d.issue_id) f
      where b.stream_id = ${streamId} and b.id = f.issue_id returning ${RECORD}`.execute(tx);
    return rows.sort((x, y) => (x.id < y.id ? -1 : 1));
  }

  /**
   * Of beads, those that another one looks at: it depends on it in whichever way, is its parent, or is the root of what was launched for it. The root of a
   * run looks at its steps through the run, and at thousands of them at once.
   */
  async watched(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
    const all = [...ids];
    const { rows } = await sql<{ id: string }>`
      select d.depends_on_id as id from bead_dependencies d join beads b on b.stream_id = d.stream_id and b.id = d.depends_on_id
      where d.stream_id = ${streamId} and d.depends_on_id = any(${all}::text[]) and d.issue_id is distinct from b.run_id
        and not exists (select from unnest(${all}::text[]) a where a = d.issue_id)
      union
      select b.id from beads b join beads p on p.stream_id = b.stream_id and p.id = b.parent and p.issue_type = 'convoy'
      where b.stream_id = ${streamId} and b.id = any(${all}::text[])
      union
      select b.id from beads b where b.stream_id = ${streamId} and b.id = any(${all}::text[])
        and (b.issue_type = 'convoy' or coalesce(b.metadata ->> 'molecule_id', b.metadata ->> 'workflow_id') is not null)
      order by id`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Dependents whose blockage changes when `id` starts (`by` = 1) or stops (-1) blocking them. */
  async flipped(tx: Tx, streamId: number, id: string, by: 1 | -1): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      select ${RECORD} from bead_dependencies d join beads b on b.stream_id = d.stream_id and b.id = d.issue_id
      where d.stream_id = ${streamId} and d.depends_on_id = ${id} and d.blocking and b.open_blockers = ${by === 1 ? 0 : 1}`.execute(tx);
    return rows;
  }

  /** Counts one blocker more or less in the dependents of `id`; answers all of them, by id. */
  async shiftBlockers(tx: Tx, streamId: number, id: string, by: 1 | -1): Promise<BeadRecord[]> {
    const flips = sql`b.open_blockers = ${by === 1 ? 0 : 1}`;
    const { rows } = await sql<BeadRecord>`
      update beads b set open_blockers = b.open_blockers + ${by}, revision = b.revision + (${flips})::int,
        updated_at = case when ${flips} then clock_timestamp() else b.updated_at end
      from bead_dependencies d
      where d.stream_id = ${streamId} and d.depends_on_id = ${id} and d.blocking and b.stream_id = d.stream_id and b.id = d.issue_id
      returning ${RECORD}`.execute(tx);
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** From now on the dependents of `id` are told some at a time, from the first on. */
  async fanOut(tx: Tx, streamId: number, id: string): Promise<void> {
    await sql`
      insert into bead_fan_outs (stream_id, bead_id) values (${streamId}, ${id})
      on conflict (stream_id, bead_id) do update set after_type = '', after_id = '', told = 0, changed = 0, begun_at = clock_timestamp()`.execute(
      tx,
    );
  }

  /** Of these beads those that are closed and whose fan-out goes on, by id. */
  async telling(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select f.bead_id as id from bead_fan_outs f join beads b on b.stream_id = f.stream_id and b.id = f.bead_id and b.status = 'closed'
      where f.stream_id = ${streamId} and f.bead_id = any(${[...ids]}::text[]) order by f.bead_id`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Edges to closed ones of these beads that a fan-out has not come to yet, from `issues` or from all others. */
  async untold(tx: Tx, streamId: number, ids: readonly string[], issues: readonly string[] | undefined): Promise<Edge[]> {
    const { rows } = await sql<Edge>`
      select d.issue_id, d.depends_on_id, d.type from bead_fan_outs f
      join beads b on b.stream_id = f.stream_id and b.id = f.bead_id and b.status = 'closed'
      join bead_dependencies d on d.stream_id = f.stream_id and d.depends_on_id = f.bead_id and (d.type, d.issue_id) > (f.after_type, f.after_id)
      where f.stream_id = ${streamId} and f.bead_id = any(${[...ids]}::text[]) and d.issue_id <> all(${[...ids]}::text[])
        and (${issues === undefined} or d.issue_id = any(${[...(issues ?? [])]}::text[]))
      order by d.depends_on_id, d.type, d.issue_id`.execute(tx);
    return rows;
  }

  /** Of these beads those whose open blockers are not what they count, by id: they count anew. `flips`: it is blocked now, or no longer. */
  async recountWrong(tx: Tx, streamId: number, ids: readonly string[]): Promise<{ readonly row: BeadRecord; readonly flips: boolean }[]> {
    const { rows } = await sql<BeadRecord & { flips: boolean }>`
      update beads b set open_blockers = t.n, revision = b.revision + t.flips::int,
        updated_at = case when t.flips then clock_timestamp() else b.updated_at end
      from (
        select x.id, n.n, (n.n = 0) <> (x.open_blockers = 0) as flips
        from ${keys(streamId, ids)} join beads x on x.stream_id = k.stream_id and x.id = k.id cross join lateral (
          select count(*)::integer as n from bead_dependencies d join beads o on o.stream_id = d.stream_id and o.id = d.depends_on_id
          where d.stream_id = x.stream_id and d.issue_id = x.id and d.blocking and o.status <> 'closed') n
        where x.open_blockers <> n.n) t
      where b.stream_id = ${streamId} and b.id = t.id returning ${RECORD}, t.flips`.execute(tx);
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ flips, ...row }) => ({ row, flips }));
  }

  /** What any of these beads holds up where it is not closed. */
  async waiting(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct d.issue_id as id from ${keys(streamId, ids)}
      join bead_dependencies d on d.stream_id = k.stream_id and d.depends_on_id = k.id where d.blocking`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Edges from (`down`) or to (`up`) a bead: all of them, or with `limit` so many. */
  async of(tx: Tx, streamId: number, id: string, direction: 'down' | 'up', limit?: number): Promise<Edge[]> {
    const edges = tx
      .selectFrom('bead_dependencies')
      .select(['issue_id', 'depends_on_id', 'type'])
      .where('stream_id', '=', streamId)
      .where(direction === 'down' ? 'issue_id' : 'depends_on_id', '=', id);
    // As the indexes have them.
    const ordered = direction === 'down' ? edges.orderBy('depends_on_id') : edges.orderBy('type').orderBy('issue_id');
    if (limit !== undefined) return ordered.limit(limit).execute();
    return edges.orderBy('issue_id').orderBy('depends_on_id').execute();
  }

  /** So many of the edges that lead to these beads from others than them, and than the root of their run: it may lead to each of its steps. */
  async outside(tx: Tx, streamId: number, ids: readonly string[], limit: number): Promise<Edge[]> {
    const all = [...ids];
    const { rows } = await sql<Edge>`
      select d.issue_id, d.depends_on_id, d.type from bead_dependencies d join beads b on b.stream_id = d.stream_id and b.id = d.depends_on_id
      where d.stream_id = ${streamId} and d.depends_on_id = any(${all}::text[]) and b.run_id is distinct from d.issue_id
        and not exists (select from unnest(${all}::text[]) own where own = d.issue_id)
      order by d.depends_on_id, d.type, d.issue_id limit ${limit}`.execute(tx);
    return rows;
  }

  /** How many edges were added or have changed, how many of them are new, and how many there were, counted up to `most` and one more. */
  async put(tx: Tx, streamId: number, issue: string, dependsOn: readonly string[], type: string, most: number): Promise<PutEdges> {
    const { rows } = await sql<PutEdges>`
      with put as (
        insert into bead_dependencies as d (stream_id, issue_id, depends_on_id, type)
        select distinct ${streamId}::integer, ${issue}, unnest(${[...dependsOn]}::text[]), ${type}
        on conflict (stream_id, issue_id, depends_on_id) do update set type = excluded.type where d.type <> excluded.type
        returning d.xmax = 0 as added)
      select count(*) as changed, count(*) filter (where put.added) as added, (
        select count(*) from (
          select from bead_dependencies b where b.stream_id = ${streamId} and b.issue_id = ${issue} limit ${most + 1}) known) as known
      from put`.execute(tx);
    return rows[0]!;
  }

  /** Takes away all edges from and to a bead. */
  async deleteAll(tx: Tx, streamId: number, id: string): Promise<void> {
    await sql`
      delete from bead_dependencies where stream_id = ${streamId} and (issue_id = ${id} or depends_on_id = ${id})`.execute(tx);
  }

  /** Takes away the edges to a bead from these. */
  async deleteTo(tx: Tx, streamId: number, id: string, issues: readonly string[]): Promise<void> {
    await sql`
      delete from bead_dependencies where stream_id = ${streamId} and depends_on_id = ${id} and issue_id = any(${[...issues]}::text[])`.execute(
      tx,
    );
  }

  /** Takes away all edges from and to many beads. */
  async deleteOf(tx: Tx, streamId: number, ids: readonly string[]): Promise<void> {
    await sql`delete from bead_dependencies where stream_id = ${streamId} and issue_id = any(${[...ids]}::text[])`.execute(tx);
    await sql`delete from bead_dependencies where stream_id = ${streamId} and depends_on_id = any(${[...ids]}::text[])`.execute(tx);
  }

  /**
   * The steps of a graph that goes on that it has skipped, and those for which it skips others: failed ones, and in one that decides all that have not passed.
   * What they wait for is read once, of those that were skipped: any number of others may depend on the steps of a run. The release before says only why, and
   * leaves what was said for which step: what is said alone says nothing, and a person may write that something has failed.
   */
  async leftOut(tx: Tx, streamId: number, run: string): Promise<LeftOut[]> {
    const { rows } = await sql<LeftOut>`
      select b.id, b.ref, k.skipped, b.ref in (
          select m.made_by from run_steps m where m.stream_id = ${streamId} and m.run_id = ${run} and m.made_by is not null) as begun,
        case when k.skipped then b.metadata ->> ${SKIPPED_FOR} end as by,
        case when k.skipped then t.told end as told, case when k.skipped then s.step -> 'scope' ->> 'ref' end as scope,
        b.metadata @> '{"gc.kind": "cleanup"}' or b.metadata @> '{"gc.scope_role": "teardown"}' as cleans,
        case when k.skipped then array(
          select d.depends_on_id from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking and not exists (
            select from run_steps o where o.stream_id = d.stream_id and o.bead_id = d.depends_on_id and o.made_by = b.ref)) else '{}' end as needs
      from runs r join beads b on b.stream_id = r.stream_id and b.run_id = r.id
      left join run_steps s on s.stream_id = b.stream_id and s.bead_id = b.id
      cross join lateral (select regexp_replace(b.metadata ->> 'close_reason',
        '^skipped: step |( has failed| failed| passed| was skipped| was canceled)$', '', 'g') as told) t
      cross join lateral (select b.metadata ->> 'gc.outcome' = 'skipped' and coalesce(
        b.metadata ->> 'close_reason' ~ '(^previous_item_failed| (failed|passed|was skipped|was canceled))$' and (
          b.metadata ? ${SKIPPED_FOR} or t.told = 'previous_item_failed'
          or t.told in (select o.ref from beads o where o.stream_id = ${streamId} and o.run_id = ${run})), false) as skipped) k
      where r.stream_id = ${streamId} and r.id = ${run} and r.outcome is null and r.compiler = 2 and b.id <> r.id and b.status = 'closed'
        and b.metadata ->> 'gc.outcome' in ('skipped', 'fail', 'canceled') and (k.skipped or b.metadata ->> 'gc.outcome' = 'fail' or s.bead_id is not null)
      order by b.id`.execute(tx);
    return rows;
  }

  /** What `id` is a round or an item of, and that has ended, or a member of, and that has ended without success: what cleans up does so behind that. */
  async endedAround(tx: Tx, streamId: number, run: string, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ id: string }>`
      select b.id from run_steps m
      join run_steps s on s.stream_id = m.stream_id and s.run_id = m.run_id and s.step ->> 'id' in (m.made_by, m.step -> 'scope' ->> 'ref')
      join beads b on b.stream_id = s.stream_id and b.id = s.bead_id
      where m.stream_id = ${streamId} and m.run_id = ${run} and m.bead_id = ${id} and b.id <> ${id}
        and b.status = 'closed' and (s.step ->> 'id' = m.made_by or b.metadata ->> 'gc.outcome' in ('fail', 'skipped', 'canceled')
          and m.step ->> 'kind' <> 'cleanup' and m.step -> 'scope' ->> 'role' is distinct from 'teardown')
      limit 1`.execute(tx);
    return rows[0]?.id;
  }

  /** Answers how many of the edges there were. */
  async delete(tx: Tx, streamId: number, issue: string, dependsOn: readonly string[]): Promise<number> {
    const { rows } = await sql`
      delete from bead_dependencies
      where stream_id = ${streamId} and issue_id = ${issue} and depends_on_id = any(${[...dependsOn]}::text[]) returning 1`.execute(tx);
    return rows.length;
  }

  /** Counts the open blockers of `id` anew and raises its revision: its dependencies have changed. */
  async recount(tx: Tx, streamId: number, id: string): Promise<BeadRecord> {
    const [row] = await this.recountAll(tx, streamId, [id]);
    return row!;
  }

  /** As `recount`, for many; answers them by id. */
  async recountAll(tx: Tx, streamId: number, ids: readonly string[]): Promise<BeadRecord[]> {
    if (ids.length === 0) return [];
    const { rows } = await sql<BeadRecord>`
      update beads b set revision = b.revision + 1, updated_at = clock_timestamp(), open_blockers = (
        select count(*) from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
        where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking and t.status <> 'closed')
      from ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id returning ${RECORD}`.execute(tx);
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
