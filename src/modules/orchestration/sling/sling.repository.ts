import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import { memberIds } from '../../work/work/convoy-members.js';
import type { Obstacles } from './sling-objections.js';

export interface Member {
  readonly id: string;
  readonly closed: boolean;
}

/** All SQL of slings: what they ask before they write through the work core. */
@Injectable()
export class SlingRepository {
  /** What keeps beads from being worked on, by their ids. */
  async obstacles(tx: Tx, streamId: number, ids: readonly string[]): Promise<ReadonlyMap<string, Obstacles>> {
    const { rows } = await sql<Obstacles & { id: string }>`
      select b.id, coalesce(b.defer_until > now(), false) as deferred, array(
        select d.depends_on_id from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
        where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking and t.status <> 'closed'
        order by d.depends_on_id) as blockers
      from beads b where b.stream_id = ${streamId} and b.id = any(${[...ids]}::text[])`.execute(tx);
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** The members of a convoy by creation, at most `limit`. */
  async members(tx: Tx, streamId: number, convoy: string, limit: number): Promise<Member[]> {
    const { rows } = await sql<Member>`
      select m.id, m.status = 'closed' as closed from beads m
      where m.stream_id = ${streamId} and m.id in (${memberIds(streamId, convoy)})
      order by m.created_at, m.id limit ${limit}`.execute(tx);
    return rows;
  }

  /** The head of the city's log. */
  async head(tx: Tx, streamId: number): Promise<number> {
    const { head } = await tx.selectFrom('event_streams').select('head').where('id', '=', streamId).executeTakeFirstOrThrow();
    return head;
  }
}
