import { sql, type RawBuilder } from 'kysely';
import { parseDuration } from '../../../contract/duration.js';
import { problem } from '../../../contract/problems.js';

/** Which events of a range a list holds. Several members must all match; of one payload key any value may. */
export interface EventFilter {
  readonly type: string | undefined;
  readonly actor: string | undefined;
  readonly subject: string | undefined;
  readonly payload: ReadonlyMap<string, readonly string[]>;
}

interface FilterQuery {
  readonly type?: string | undefined;
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  readonly payload_match?: readonly string[] | undefined;
}

export function toFilter(query: FilterQuery): EventFilter {
  const payload = new Map<string, string[]>();
  for (const pair of query.payload_match ?? []) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, at);
    payload.set(key, [...(payload.get(key) ?? []), pair.slice(at + 1)]);
  }
  return { type: query.type, actor: query.actor, subject: query.subject, payload };
}

/** Conditions that no index answers: a query with them reads a bounded stretch of the log at a time. */
export function isUnindexed(filter: EventFilter): boolean {
  return filter.actor !== undefined || filter.subject !== undefined || filter.payload.size > 0;
}

/** SQL over alias `e` (`events`). */
export function matches(filter: EventFilter): RawBuilder<boolean> {
  const parts: RawBuilder<unknown>[] = [sql`true`];
  if (filter.type !== undefined) parts.push(sql`e.type = ${filter.type}`);
  if (filter.actor !== undefined) parts.push(sql`e.actor = ${filter.actor}`);
  if (filter.subject !== undefined) parts.push(sql`e.subject = ${filter.subject}`);
  for (const [key, values] of filter.payload) parts.push(sql`${payloadText(key)} = any(${[...values]}::text[])`);
  return sql<boolean>`(${sql.join(parts, sql` and `)})`;
}

/** `payload_text`, called only where plain operators cannot tell: they are several times faster. */
function payloadText(key: string): RawBuilder<string> {
  const head = key.split('.', 1)[0]!;
  return sql<string>`case
    when not e.payload ?| ${[key, head]}::text[] then null
    when jsonb_typeof(e.payload -> ${key}) in ('string', 'boolean') then e.payload ->> ${key}
    when jsonb_typeof(e.payload -> ${key}) = 'number' then trim_scale((e.payload -> ${key})::numeric)::text
    else payload_text(e.payload, ${key}) end`;
}

/** `since` and `until` as milliseconds before now. @throws 400 for anything but a duration. */
export function toAge(name: 'since' | 'until', text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined) throw problem('invalid_request', `invalid ${name} duration: "${text.slice(0, 60)}"`, { at: `query.${name}` });
  return ms;
}

/** The instant `ms` before the statement came to the database: one for all of it, so that an index by time is asked for no more than that. */
export function ago(ms: number): RawBuilder<Date> {
  return sql<Date>`(statement_timestamp() - ${ms}::double precision * interval '1 millisecond')`;
}
