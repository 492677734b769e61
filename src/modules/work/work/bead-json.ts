import { sql, type RawBuilder } from 'kysely';

/** The JSON of a row of `beads` (its alias, a constant) as it is in the statement's snapshot, also in a RETURNING. */
export function beadJson(alias: string): RawBuilder<unknown> {
  return sql.raw(beadJsonText(alias));
}

/** The same for a prepared statement. */
export function beadJsonText(b: string): string {
  return withEdges('bead_json', b);
}

/** The same as long lists have it. */
export function beadSummaryJson(alias: string): RawBuilder<unknown> {
  return sql.raw(withEdges('bead_summary_json', alias));
}

function withEdges(json: string, b: string): string {
  return `(select ${json}(${b}, e.dependencies, e.needs) from bead_edges((${b}).stream_id, (${b}).id) e)`;
}
