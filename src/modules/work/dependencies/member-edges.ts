import { sql, type RawBuilder } from 'kysely';

/** SQL of the edges whose two ends are both rows of `members`, with those to parents. */
export function edgesAmongMembers(streamId: number): RawBuilder<unknown> {
  return sql`
    select d.depends_on_id as from_id, d.issue_id as to_id, d.type as kind
    from members m
    join bead_dependencies d on d.stream_id = ${streamId} and d.issue_id = m.id
    join members p on p.id = d.depends_on_id
    union
    select b.parent, b.id, 'parent-child'
    from members m join beads b on b.stream_id = ${streamId} and b.id = m.id join members p on p.id = b.parent`;
}
