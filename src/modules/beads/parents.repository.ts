import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../platform/database/transactions.js';

/** The tree of beads by `parent`, for writers, which hold the city's work lock. */
@Injectable()
export class ParentsRepository {
  /** The way from `from` up to `to` through parents, both included; undefined when there is none. */
  async path(tx: Tx, streamId: number, from: string, to: string): Promise<string[] | undefined> {
    const { rows } = await sql<{ path: string[] }>`
      with recursive up (id, path) as (
        select ${from}::text collate "C", array[${from}::text collate "C"]
        union all
        select b.parent, up.path || b.parent
        from up join beads b on b.stream_id = ${streamId} and b.id = up.id
        where b.parent is not null and b.parent <> all (up.path) and up.id <> ${to}
      )
      select path from up where id = ${to}`.execute(tx);
    return rows[0]?.path;
  }
}
