import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';

export interface ConvoyCounts {
  readonly total: number;
  readonly closed: number;
}

/**
 * Ids of a convoy's members, possibly twice: what it tracks and its children. Everywhere that members are meant: for `m.id in (…)` of one convoy, and joined
 * to where each of several is asked, as the database would look for it among all beads of the city otherwise.
 */
export function memberIds(streamId: number, convoy: string | RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select d.depends_on_id from bead_dependencies d where d.stream_id = ${streamId} and d.issue_id = ${convoy} and d.type = 'tracks'
    union all select k.id from beads k where k.stream_id = ${streamId} and k.parent = ${convoy}`;
}

/** SQL of one row, the counts of a convoy. Children are counted in indexes alone: there is no bound to them, as there is to what it tracks. */
export function memberCounts(streamId: number, convoy: string): RawBuilder<unknown> {
  const children = sql`select count(*) from beads k where k.stream_id = ${streamId} and k.parent = ${convoy}`;
  return sql`
    select children.total + tracked.total as total, children.total - children.open + tracked.closed as closed
    from (select (${children}) as total, (${children} and k.status <> 'closed') as open offset 0) children cross join (
      select count(*) as total, count(*) filter (where m.status = 'closed') as closed
      from bead_dependencies d join beads m on m.stream_id = d.stream_id and m.id = d.depends_on_id
      where d.stream_id = ${streamId} and d.issue_id = ${convoy} and d.type = 'tracks' and m.parent is distinct from ${convoy}) tracked`;
}

export async function countMembers(tx: Tx, streamId: number, convoy: string): Promise<ConvoyCounts> {
  const { rows } = await sql<ConvoyCounts>`${memberCounts(streamId, convoy)}`.execute(tx);
  return rows[0]!;
}

/** Of a convoy `c`: open, closing by itself, with members, all of them closed; as a step of a run it also keeps to the order of that. */
function isCompleted(streamId: number): RawBuilder<unknown> {
  // Each asked for every convoy by itself: together they would be looked for among all of the city.
  const children = sql`select from beads k where k.stream_id = ${streamId} and k.parent = c.id`;
  const tracked = sql`
    select from bead_dependencies d join beads m on m.stream_id = d.stream_id and m.id = d.depends_on_id
    where d.stream_id = ${streamId} and d.issue_id = c.id and d.type = 'tracks'`;
  return sql`c.stream_id = ${streamId} and c.issue_type = 'convoy' and c.status <> 'closed' and not 'owned' = any(c.labels)
    and (c.run_id is null or c.open_blockers = 0)
    and not exists (${children} and k.status <> 'closed' offset 0) and not exists (${tracked} and m.status <> 'closed' offset 0)
    and (exists (${children} offset 0) or exists (${tracked} offset 0))`;
}

/** Of these convoys those that have nothing left to wait for, by id. */
export async function completedOf(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select c.id from beads c where c.id = any(${[...ids]}::text[]) and ${isCompleted(streamId)} order by c.id`.execute(tx);
  return rows.map((row) => row.id);
}

export async function isConvoyCompleted(tx: Tx, streamId: number, id: string): Promise<boolean> {
  const { rows } = await sql`select from beads c where c.id = ${id} and ${isCompleted(streamId)}`.execute(tx);
  return rows.length === 1;
}
