import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { edgesAmongMembers } from './member-edges.js';
import { summaryBytes } from '../work/bead-bytes.js';
import { beadSummaryJson } from '../work/bead-json.js';

export interface NeighborhoodRow {
  readonly head: number;
  /** Beads that were found, one above the limit at most; 0 when there is no such bead. */
  readonly size: number;
  /** The answer, as far as it fits; null without the bead. */
  readonly json: string | null;
}

/** Reads a bead with what is around it, whatever root that belongs to. */
@Injectable()
export class NeighborhoodRepository {
  constructor(private readonly db: Db) {}

  /**
   * One snapshot. The walk goes along edges and parents both ways, level by level, and ends once it has seen so many beads: each may come
   * again on every level. Of a bead with very many neighbours it takes as many as the answer may have.
   */
  async around(streamId: number, id: string, depth: number, limit: number, maxBytes: number): Promise<NeighborhoodRow> {
    const { rows } = await sql<NeighborhoodRow>`
      with recursive walk (id, level) as (
        select b.id, 0 from beads b where b.stream_id = ${streamId} and b.id = ${id}
        union
        select n.id, w.level + 1 from walk w cross join lateral (
          (select d.depends_on_id as id from bead_dependencies d where d.stream_id = ${streamId} and d.issue_id = w.id limit ${limit + 1})
          union
          (select d.issue_id from bead_dependencies d where d.stream_id = ${streamId} and d.depends_on_id = w.id limit ${limit + 1})
          union
          select b.parent from beads b where b.stream_id = ${streamId} and b.id = w.id and b.parent is not null
          union
          (select b.id from beads b where b.stream_id = ${streamId} and b.parent = w.id limit ${limit + 1})
        ) n where w.level < ${depth}
      ), seen as materialized (
        select w.id, min(w.level) as level from (select * from walk limit ${(limit + 1) * (depth + 1)}) w group by w.id
      ), sized as materialized (
        select b.id, s.level, b.created_at, row_number() over o as nth, sum(${summaryBytes('b')}) over (o rows unbounded preceding) as upto
        from seen s join beads b on b.stream_id = ${streamId} and b.id = s.id window o as (order by s.level, b.created_at, b.id)
      ), members as materialized (
        select id, level, nth from sized where nth = 1 or (nth <= ${limit} and upto <= ${maxBytes})
      ), deps as (${edgesAmongMembers(streamId)})
      select e.head, (select count(*) from sized)::int as size, case when exists (select from members) then json_build_object(
          'beads', (select json_agg(${beadSummaryJson('b')} order by m.nth) from members m join beads b on b.stream_id = ${streamId} and b.id = m.id),
          'deps', (select coalesce(json_agg(json_build_object('from', d.from_id, 'to', d.to_id, 'kind', d.kind)
            order by d.from_id, d.to_id, d.kind), '[]') from deps d),
          'partial', (select count(*) from members) < (select count(*) from sized))::text end as json
      from event_streams e where e.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }
}
