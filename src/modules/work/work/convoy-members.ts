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

export async function countMembers(tx: Tx, streamId: number, convoy: string): Promise<ConvoyCounts> {
  const { rows } = await sql<ConvoyCounts>`
    select count(*) as total, count(*) filter (where m.status = 'closed') as closed
    from beads m where m.stream_id = ${streamId} and m.id in (${memberIds(streamId, convoy)})`.execute(tx);
  return rows[0]!;
}

/** Of a convoy `c`: open, closing by itself, with members, all of them closed; as a step of a run it also keeps to the order of that. */
function isCompleted(streamId: number): RawBuilder<unknown> {
  const members = memberIds(streamId, sql`c.id`);
  return sql`c.stream_id = ${streamId} and c.issue_type = 'convoy' and c.status <> 'closed' and not 'owned' = any(c.labels)
    and (c.run_id is null or c.open_blockers = 0)
    and not exists (select from (${members}) x (id) join beads m on m.stream_id = ${streamId} and m.id = x.id and m.status <> 'closed')
    and exists (select from (${members}) x (id) join beads m on m.stream_id = ${streamId} and m.id = x.id)`;
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
