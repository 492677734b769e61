import { sql, type RawBuilder } from 'kysely';

/** About how many bytes of JSON a row of `beads` (its alias) makes; long texts are not read for it. */
export function beadBytes(alias: string): RawBuilder<number> {
  const column = (name: string): RawBuilder<unknown> => sql.ref(`${alias}.${name}`);
  const metadata = column('metadata');
  return sql<number>`(
    300 + octet_length(${column('title')}) + coalesce(octet_length(${column('description')}), 0) + pg_column_size(${column('labels')})
    + case when pg_column_compression(${metadata}) is null then pg_column_size(${metadata}) else octet_length(${metadata}::text) end
    + 100 * (select count(*) from bead_dependencies e where e.stream_id = ${column('stream_id')} and e.issue_id = ${column('id')}))`;
}
