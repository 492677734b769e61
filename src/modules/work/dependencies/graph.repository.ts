import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { edgesAmongMembers } from './member-edges.js';
import { beadJson } from '../work/bead-json.js';

export interface GraphRow {
  readonly head: number;
  /** How many beads belong to it, counting to one above the limit. */
  readonly size: number;
  /** Characters of their texts. */
  readonly weight: number;
  /** The answer; null when it is too large. */
  readonly json: string | null;
}

/** Reads a bead with everything that belongs to it. */
@Injectable()
export class GraphRepository {
  constructor(private readonly db: Db) {}

  /**
   * One snapshot of the graph of `root` and of the head of the city's stream. Members are the beads that name it as their
   * root, those that it tracks when it is a convoy, and the children of all of them, each once, so that parents in a circle
   * do no harm; the walk ends one bead above `maxBeads`.
   */
  async graph(streamId: number, root: string, maxBeads: number, maxWeight: number): Promise<GraphRow> {
    const { rows } = await sql<GraphRow>`
      with recursive root as (
        select b.id, b.issue_type = 'convoy' as is_convoy from beads b where b.stream_id = ${streamId} and b.id = ${root}
      ), tree (id) as (
        (select r.id from root r
         union
         select b.id from beads b, root r
         where b.stream_id = ${streamId} and b.metadata <> '{}' and b.metadata ->> 'gc.root_bead_id' = ${root}
           and bead_terms(b.stream_id, b.labels, b.metadata) @> array[hashtextextended('mgc.root_bead_id=' || ${root}, ${streamId})]
         union
         select d.depends_on_id from root r join bead_dependencies d on d.stream_id = ${streamId} and d.issue_id = r.id and d.type = 'tracks'
         where r.is_convoy)
        union
        select child.id from tree t cross join lateral (
          select b.id from beads b where b.stream_id = ${streamId} and b.parent = t.id
          union all
          select d.issue_id from bead_dependencies d where d.stream_id = ${streamId} and d.depends_on_id = t.id and d.type = 'parent-child'
        ) child
      ), members as materialized (
        select id from tree limit ${maxBeads + 1}
      ), sized as materialized (
        select count(*) as size, coalesce(sum(octet_length(b.title) + coalesce(octet_length(b.description), 0) +
          octet_length(b.labels::text) + octet_length(b.metadata::text)), 0)::bigint as weight
        from members m join beads b on b.stream_id = ${streamId} and b.id = m.id
      ), deps as (${edgesAmongMembers(streamId)})
      select s.head, z.size, z.weight, case when z.size > 0 and z.size <= ${maxBeads} and z.weight <= ${maxWeight} then (
        select json_build_object(
          'root', (select ${beadJson('b')} from beads b where b.stream_id = ${streamId} and b.id = ${root}),
          'beads', (select json_agg(${beadJson('b')} order by b.id <> ${root}, b.created_at, b.id)
                    from members m join beads b on b.stream_id = ${streamId} and b.id = m.id),
          'deps', (select coalesce(json_agg(json_build_object('from', d.from_id, 'to', d.to_id, 'kind', d.kind)
                    order by d.from_id, d.to_id, d.kind), '[]') from deps d),
          'membership', 'direct-root-id+parent-closure' || case when r.is_convoy then '+convoy-members' else '' end)
        from root r)::text end as json
      from event_streams s, sized z where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }
}
