import { sql, type RawBuilder } from 'kysely';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';

/**
 * The one place that turns a stored event into its JSON on the wire. The text is made by Postgres: replaying
 * 200,000 events costs a third of the CPU of rows turned into objects and serialised here.
 */

/** What streams say beside it: what the event means for those who follow a run. */
const WORKFLOW = sql`, ',"workflow":' || case
    when e.type like 'bead.%' and e.payload #> '{bead,metadata}' ?| array['gc.root_bead_id', 'gc.formula_name']
    then event_workflow(e.stream_id, e.seq, e.ts, e.type, e.subject, e.run_id, e.payload) end`;

/** SQL for the envelope's JSON of table alias `e` (`events`), without the closing brace. */
export function wireText({ workflow }: { readonly workflow: boolean } = { workflow: false }): RawBuilder<string> {
  return sql<string>`concat('{"seq":', e.seq,
    ',"ts":"', to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    '","type":', to_json(e.type), ',"actor":', to_json(e.actor),
    ',"subject":' || to_json(e.subject), ',"message":' || to_json(e.message),
    ',"run_id":' || to_json(e.run_id), ',"session_id":' || to_json(e.session_id), ',"step_id":' || to_json(e.step_id),
    ',"depends_on_step_ids":' || to_json(e.depends_on_step_ids),
    ',"payload":', e.payload${workflow ? WORKFLOW : sql``})`;
}

/**
 * SQL for about how many bytes that text has (alias `e`). For those of before the log noted it the most that they can be, by what
 * is stored: Postgres compresses to a hundredth at best, and to measure them each page would read all that might have been on it.
 */
export function wireBytes(): RawBuilder<number> {
  return sql<number>`coalesce(e.size, 200 + coalesce(octet_length(e.message), 0)
    + pg_column_size(e.payload) * case when pg_column_compression(e.payload) is null then 1 else 100 end)`;
}

/**
 * SQL for the `city` member of a supervisor-scope envelope (aliases `e` events, `s` event_streams). Ends of
 * city operations live on the supervisor's stream and carry the city they are about.
 */
export function wireCity(): RawBuilder<string> {
  return sql<string>`case when s.name = ${sql.lit(SUPERVISOR_STREAM)} and e.subject is not null
    and (e.type = 'request.failed' or e.type like 'request.result.city.%') then e.subject else s.name end`;
}

/** Closes a wire text as a city-scope envelope. */
export function cityEnvelope(text: string): string {
  return `${text}}`;
}

/** Closes a wire text as a supervisor-scope envelope: the city that it is about, and the stream that numbers it. */
export function taggedEnvelope(text: string, city: string, stream: string): string {
  return `${text},"city":${JSON.stringify(city)},"stream":${JSON.stringify(stream)}}`;
}
