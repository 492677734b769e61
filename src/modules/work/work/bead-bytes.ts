import { sql, type RawBuilder } from 'kysely';

/** About how many bytes of JSON a row of `beads` (its alias, a constant) makes; long texts are not read for it. */
export function beadBytes(alias: string): RawBuilder<number> {
  return sql.raw<number>(beadBytesText(alias));
}

/** The same for a prepared statement. */
export function beadBytesText(b: string): string {
  return `(
    300 + octet_length(${b}.title) + coalesce(octet_length(${b}.description), 0) + pg_column_size(${b}.labels)
    + case when pg_column_compression(${b}.metadata) is null then pg_column_size(${b}.metadata) else octet_length(${b}.metadata::text) end
    + 100 * (select count(*) from bead_dependencies e where e.stream_id = ${b}.stream_id and e.issue_id = ${b}.id))`;
}

/** The same of what a summary of it has. */
export function summaryBytes(alias: string): RawBuilder<number> {
  const column = (name: string): RawBuilder<unknown> => sql.ref(`${alias}.${name}`);
  return sql<number>`(300 + octet_length(${column('title')}) + pg_column_size(${column('labels')})
    + 100 * (select count(*) from bead_dependencies e where e.stream_id = ${column('stream_id')} and e.issue_id = ${column('id')}))`;
}
