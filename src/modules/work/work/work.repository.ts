import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { databaseTime } from '../../../platform/database/clock.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { COLUMNS, keys, RECORD } from './bead-columns.js';
import { BLOCKING, type BeadRecord, type Edge, NewBead, ReservedBead } from './bead-record.js';
import { EdgesRepository } from './edges.repository.js';
import { HeldRepository } from './held.repository.js';

/** The new values of a row's columns; absent ones stay. */
export interface RowChange {
  readonly title?: string;
  readonly description?: string | null;
  readonly issue_type?: string;
  readonly status?: string;
  readonly priority?: number | null;
  readonly assignee?: string | null;
  readonly parent?: string | null;
  readonly labels?: readonly string[];
  readonly defer_until?: Date | null;
}

export interface Merge {
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
}

/** Types of the edges of convoys and waits, which do more than count when what they lead to is closed. */
export const HEAVY = ['tracks', 'waits-for'];

/** A bead after a change, and whether it has more dependents than one transaction tells. */
export interface Moved {
  readonly row: BeadRecord;
  readonly many: boolean;
}

/** Of a bead `b`. It reads no more of the edges than it takes to know. A convoy that closes takes ten times what a count does, a wait five times. */
const hasMany = (few: number): RawBuilder<boolean> => sql<boolean>`(
  exists (select from bead_dependencies d where d.stream_id = b.stream_id and d.depends_on_id = b.id offset ${few})
  or exists (select from bead_dependencies d
    where d.stream_id = b.stream_id and d.depends_on_id = b.id and d.type = any(${HEAVY}::text[]) offset ${Math.floor(few / 3)})
  or exists (select from bead_fan_outs f where f.stream_id = b.stream_id and f.bead_id = b.id))`;

/** A lease ends with it. */
const CLOSED = sql`status = 'closed', closed_at = clock_timestamp(), updated_at = clock_timestamp(), revision = b.revision + 1,
  lease_ms = null, lease_until = null`;

const moved = ({ many, ...row }: BeadRecord & { many: boolean }): Moved => ({ row, many });

/** What becomes of whose a bead is. */
export interface Holding {
  readonly handover: boolean;
  readonly leaseMs: number | undefined;
}

function setOf(change: RowChange, metadata: Merge, { handover, leaseMs }: Holding): RawBuilder<unknown> {
  const set = Object.entries(change).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  const hasMetadata = Object.keys(metadata.set).length > 0 || metadata.unset.length > 0;
  if (set.length > 0 || hasMetadata) set.push(sql`revision = b.revision + 1, updated_at = clock_timestamp()`);
  if (change.status !== undefined) set.push(sql`closed_at = ${change.status === 'closed' ? sql`clock_timestamp()` : null}`);
  if (hasMetadata) set.push(sql`metadata = (b.metadata || ${JSON.stringify(metadata.set)}::jsonb) - ${[...metadata.unset]}::text[]`);
  if (leaseMs !== undefined) set.push(sql`lease_ms = ${leaseMs}, lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'`);
  else if (handover || (change.status !== undefined && change.status !== 'in_progress')) set.push(sql`lease_ms = null, lease_until = null`);
  if (handover) set.push(sql`claim_fence = b.claim_fence + 1`);
  if (handover && leaseMs !== undefined) set.push(sql`attempts = b.attempts + 1`);
  return sql.join(set);
}

/** SQL of writers, which hold the city's work lock. Reads that answer requests are the families' own. */
@Injectable()
export class WorkRepository {
  readonly edges = new EdgesRepository();
  readonly held = new HeldRepository();

  /** Takes the city's work lock until the end of the transaction. False when the city does not run. */
  async begin(tx: Tx, streamId: number): Promise<boolean> {
    const { rows } = await sql<{ running: boolean }>`select begin_work(${streamId}) as running`.execute(tx);
    return rows[0]!.running;
  }

  /** Where the transaction can go back to, until it is taken away. */
  async mark(tx: Tx): Promise<void> {
    await sql`savepoint tried`.execute(tx);
  }

  async backToMark(tx: Tx): Promise<void> {
    await sql`rollback to savepoint tried`.execute(tx);
  }

  async unmark(tx: Tx): Promise<void> {
    await sql`release savepoint tried`.execute(tx);
  }

  now(tx: Tx): Promise<Date> {
    return databaseTime(tx);
  }

  async head(tx: Tx, streamId: number): Promise<number> {
    const { head } = await tx.selectFrom('event_streams').select('head').where('id', '=', streamId).executeTakeFirstOrThrow();
    return head;
  }

  async find(tx: Tx, streamId: number, ids: readonly string[]): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      select ${RECORD} from ${keys(streamId, ids)} join beads b on b.stream_id = k.stream_id and b.id = k.id`.execute(tx);
    return rows;
  }

  /** Undefined when the rig is not there. */
  async nextId(tx: Tx, streamId: number, rig: string): Promise<string | undefined> {
    const { rows } = await sql<{ id: string | null }>`select next_bead_id(${streamId}, ${rig}) as id`.execute(tx);
    return rows[0]?.id ?? undefined;
  }

  async hasRig(tx: Tx, streamId: number, rig: string): Promise<boolean> {
    const row = await tx.selectFrom('rigs').select('present').where('stream_id', '=', streamId).where('name', '=', rig).executeTakeFirst();
    return row?.present ?? false;
  }

  async insert(tx: Tx, streamId: number, id: string, bead: NewBead): Promise<BeadRecord> {
    const { rows } = await sql<BeadRecord>`
      insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, author, parent, description, labels, metadata,
        defer_until, ephemeral, no_history, sling_source)
      values (${streamId}, ${id}, ${bead.rig}, ${bead.title}, ${bead.type || 'task'}, ${bead.priority ?? null}, ${bead.assignee || null},
        ${bead.author || null}, ${bead.parent || null}, ${bead.description || null}, ${[...(bead.labels ?? [])]}::text[],
        ${JSON.stringify(bead.metadata ?? {})}::jsonb, ${bead.deferUntil ?? null}, ${bead.ephemeral ?? false}, ${bead.noHistory ?? false},
        ${bead.slingSource || null})
      returning ${RECORD}`.execute(tx);
    return rows[0]!;
  }

  /** As `nextId`, for many; empty when the rig is not there. */
  async nextIds(tx: Tx, streamId: number, rig: string, count: number): Promise<string[]> {
    const { rows } = await sql<{ prefix: string; last: number }>`
      insert into bead_counters as c (stream_id, prefix, last)
      select r.stream_id, r.prefix, ${count}::integer from rigs r where r.stream_id = ${streamId} and r.name = ${rig} and r.present
      on conflict (stream_id, prefix) do update set last = c.last + ${count}::integer
      returning c.prefix, c.last`.execute(tx);
    const [row] = rows;
    return row === undefined ? [] : Array.from({ length: count }, (_, n) => `${row.prefix}-${row.last - count + 1 + n}`);
  }

  /**
   * Makes beads with their edges; what they wait for is open. Their JSON gets the edges from the same statement: to read two hundred
   * beads back after they are written takes 5 ms more.
   */
  async insertAll(tx: Tx, streamId: number, beads: readonly ReservedBead[], edges: readonly Edge[]): Promise<BeadRecord[]> {
    const blockers = new Map<string, number>();
    for (const { issue_id: id, type } of edges) if (BLOCKING.includes(type)) blockers.set(id, (blockers.get(id) ?? 0) + 1);
    const rows = beads.map(
      ({ id, rig, title, type, priority, assignee, description, parent, labels, metadata, runId, ref, slingSource }) => ({
        ...{ id, rig, title, priority, ref, type: type || 'task', assignee: assignee || null, description: description || null },
        ...{ parent: parent || null, labels: labels ?? [], metadata: metadata ?? {}, run_id: runId, blockers: blockers.get(id) ?? 0 },
        sling_source: slingSource,
      }),
    );
    const { rows: made } = await sql<BeadRecord>`
      with put as (
        insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
        select ${streamId}, d.* from jsonb_to_recordset(${JSON.stringify(edges)}::jsonb) as d(issue_id text, depends_on_id text, type text)
        returning issue_id, depends_on_id, type, blocking
      ), known as materialized (
        select jsonb_object_agg(d.id, jsonb_build_array(d.dependencies, d.needs)) as edges from (
          select p.issue_id as id, jsonb_agg(to_jsonb(p) - 'blocking' order by p.depends_on_id) as dependencies,
            jsonb_agg(p.depends_on_id order by p.depends_on_id) filter (where p.blocking) as needs
          from put p group by p.issue_id) d
      )
      insert into beads as b (stream_id, id, rig, title, issue_type, priority, assignee, parent, description, labels, metadata, run_id, ref, open_blockers, sling_source)
      select ${streamId}, e.id, e.rig, e.title, e.type, e.priority, e.assignee, e.parent, e.description, e.labels, e.metadata, e.run_id, e.ref, e.blockers, e.sling_source
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(id text, rig text, title text, type text, priority smallint, assignee text,
        parent text, description text, labels text[], metadata jsonb, run_id text, ref text, blockers integer, sling_source text)
      returning ${COLUMNS}, bead_json(b, ((select k.edges from known k) -> b.id -> 0)::json, ((select k.edges from known k) -> b.id -> 1)::json) as snapshot`.execute(
      tx,
    );
    return made;
  }

  /** Removes beads that nobody but this transaction has seen, with their edges. */
  async takeBack(tx: Tx, streamId: number, ids: readonly string[]): Promise<void> {
    await sql`delete from bead_dependencies where stream_id = ${streamId} and issue_id = any(${[...ids]}::text[])`.execute(tx);
    await this.deleteAll(tx, streamId, ids);
  }

  /** Closes those that are not closed. `metadata` is merged in. `few` as for `update`. */
  async closeAll(
    tx: Tx,
    streamId: number,
    ids: readonly string[],
    metadata: Readonly<Record<string, string>>,
    few: number,
  ): Promise<Moved[]> {
    const { rows } = await sql<BeadRecord & { many: boolean }>`
      update beads b set ${CLOSED}, metadata = b.metadata || ${JSON.stringify(metadata)}::jsonb
      from ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id and b.status <> 'closed'
      returning ${RECORD}, ${hasMany(few)} as many`.execute(tx);
    return rows.map(moved);
  }

  /** Closes beads that are not closed, each with what is merged into its own metadata. */
  async closeEach(tx: Tx, streamId: number, closings: readonly (Merge & { readonly id: string })[]): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      update beads b set ${CLOSED}, metadata = (b.metadata || c.set) - c.unset
      from ${keys(
        streamId,
        closings.map(({ id }) => id),
      )}
      join jsonb_to_recordset(${JSON.stringify(closings)}::jsonb) as c(id text, set jsonb, unset text[]) on c.id = k.id
      where b.stream_id = k.stream_id and b.id = k.id and b.status <> 'closed' returning ${RECORD}`.execute(tx);
    return rows;
  }

  /**
   * Of beads, those whose end others only count, who are few, and those that each of them holds up, by id. Not so convoys, waits, what one of these
   * or a step of another run waits for, and what something was launched for.
   */
  async counted(tx: Tx, streamId: number, ids: readonly string[], few: number): Promise<Map<string, readonly string[]>> {
    const { rows } = await sql<{ id: string; behind: string[] }>`
      select b.id, e.behind from ${keys(streamId, ids)} join beads b on b.stream_id = k.stream_id and b.id = k.id
      left join beads p on p.stream_id = b.stream_id and p.id = b.parent
      cross join lateral (
        select count(*) as n, coalesce(bool_or(d.looks), false) as looked, coalesce(array_agg(d.issue_id) filter (where d.blocking), '{}') as behind from (
          select d.issue_id, d.blocking, d.type = any(${HEAVY}::text[]) or o.issue_type = 'convoy' or 'gc:wait' = any(o.labels)
            or o.run_id is not null and o.run_id is distinct from b.run_id as looks
          from bead_dependencies d join beads o on o.stream_id = d.stream_id and o.id = d.issue_id
          where d.stream_id = b.stream_id and d.depends_on_id = b.id limit ${few + 1}) d) e
      where e.n <= ${few} and not e.looked and b.issue_type <> 'convoy' and p.issue_type is distinct from 'convoy' and not 'gc:wait' = any(b.labels)
        and coalesce(b.metadata ->> 'molecule_id', b.metadata ->> 'workflow_id') is null
        and not exists (select from bead_fan_outs f where f.stream_id = b.stream_id and f.bead_id = b.id)`.execute(tx);
    return new Map(rows.map(({ id, behind }) => [id, behind.sort()]));
  }

  /**
   * As `update` of those of many beads that are closed, which are open then and count what they wait for, others of them too. They have none of the metadata of `unset`
   * any more. `few` as for `update`.
   */
  async openAll(tx: Tx, streamId: number, ids: readonly string[], unset: readonly string[], few: number): Promise<Moved[]> {
    const opened = setOf({ status: 'open' }, { set: {}, unset }, { handover: true, leaseMs: undefined });
    const { rows } = await sql<BeadRecord & { many: boolean }>`
      update beads b set ${opened}, open_blockers = (
        select count(*) from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
        where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking and (t.status <> 'closed' or t.id = any(${[...ids]}::text[])))
      from ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id and b.status = 'closed'
      returning ${RECORD}, ${hasMany(few)} as many`.execute(tx);
    return rows.map(moved);
  }

  /** Gives many beads one label more, or one less; answers those that it changes. */
  async relabelAll(tx: Tx, streamId: number, ids: readonly string[], label: string, has: boolean): Promise<BeadRecord[]> {
    const labels = has ? sql`b.labels || ${label}::text` : sql`array_remove(b.labels, ${label}::text)`;
    const { rows } = await sql<BeadRecord>`
      update beads b set labels = ${labels}, revision = b.revision + 1, updated_at = clock_timestamp()
      from ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id and (${label}::text = any(b.labels)) <> ${has} returning ${RECORD}`.execute(
      tx,
    );
    return rows.sort((x, y) => (x.id < y.id ? -1 : 1));
  }

  /**
   * Writes a change and raises the revision; `handover` raises the claim fence too. A lease ends with the claim that it
   * belongs to, `leaseMs` begins one. Beginning a lease anew is nothing that clients see of a bead: no new revision. Where its status
   * changes, it says whether more than `few` depend on the bead, or are still being told of its last change.
   */
  async update(tx: Tx, streamId: number, id: string, change: RowChange, metadata: Merge, keep: Holding, few: number): Promise<Moved> {
    const { rows } = await sql<BeadRecord & { many: boolean }>`
      update beads b set ${setOf(change, metadata, keep)}
      where b.stream_id = ${streamId} and b.id = ${id}
      returning ${RECORD}, ${change.status === undefined ? sql`false` : hasMany(few)} as many`.execute(tx);
    return moved(rows[0]!);
  }

  /** As `update`, of many beads the same, and nothing that is said to their dependents. */
  async updateAll(
    tx: Tx,
    streamId: number,
    ids: readonly string[],
    change: Omit<RowChange, 'status'>,
    metadata: Merge,
    keep: Holding,
  ): Promise<BeadRecord[]> {
    const { rows } = await sql<BeadRecord>`
      update beads b set ${setOf(change, metadata, keep)}
      from ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id returning ${RECORD}`.execute(tx);
    return rows;
  }

  async deleteAll(tx: Tx, streamId: number, ids: readonly string[]): Promise<void> {
    await sql`delete from beads b using ${keys(streamId, ids)} where b.stream_id = k.stream_id and b.id = k.id`.execute(tx);
  }

  async delete(tx: Tx, streamId: number, id: string): Promise<void> {
    await tx.deleteFrom('beads').where('stream_id', '=', streamId).where('id', '=', id).execute();
  }
}
