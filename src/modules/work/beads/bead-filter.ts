import { sql, type RawBuilder } from 'kysely';
import type { BeadsQuery, ReadyQuery } from './beads.schemas.js';

/** Conditions of lists as SQL over alias `b` (`beads`), written so that the indexes of migration 0007 and 0008 answer them. */
type Condition = RawBuilder<unknown>;

export function matchesList(streamId: number, query: BeadsQuery): RawBuilder<boolean> {
  const { type, rig, parent, text, priority, blocked } = query;
  return all([
    sql`b.stream_id = ${streamId}`,
    ...statusIs(query),
    ...when(type, (value) => sql`b.issue_type = ${value}`),
    ...when(query.label, (value) => labelIs(streamId, value)),
    ...when(query.assignee, (value) => assigneeIs(streamId, value, rig)),
    ...when(rig, (value) => sql`b.rig = ${value}`),
    ...when(parent, (value) => sql`b.parent = ${value}`),
    ...(query.metadata ?? []).map((term) => metadataIs(streamId, term)),
    ...when(text, (value) => sql`(strpos(lower(b.title), lower(${value})) > 0 or strpos(lower(b.description), lower(${value})) > 0)`),
    ...when(priority, (value) => sql`b.priority = ${value}`),
    ...when(blocked, (value) => (value ? sql`b.open_blockers > 0` : sql`b.open_blockers = 0`)),
    ...when(query.created_after, (value) => sql`b.created_at > ${utc(value)}::timestamptz`),
    ...when(query.created_before, (value) => sql`b.created_at < ${utc(value)}::timestamptz`),
    ...when(query.updated_after, (value) => sql`coalesce(b.updated_at, b.created_at) > ${utc(value)}::timestamptz`),
    ...when(query.updated_before, (value) => sql`coalesce(b.updated_at, b.created_at) < ${utc(value)}::timestamptz`),
  ]);
}

export function matchesReady(streamId: number, query: ReadyQuery): RawBuilder<boolean> {
  return all([
    sql`b.stream_id = ${streamId} and bead_is_ready(b)`,
    ...when(query.rig, (value) => sql`b.rig = ${value}`),
    ...when(query.assignee, (value) => assigneeIs(streamId, value, query.rig)),
    ...(query.unassigned ? [sql`b.assignee is null`] : []),
    ...when(query.routed_to, (value) => sql`b.routed_to = ${value}`),
    ...when(query.label, (value) => labelIs(streamId, value)),
  ]);
}

function all(conditions: readonly Condition[]): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function when<T>(value: T | undefined, condition: (value: T) => Condition): Condition[] {
  return value === undefined ? [] : [condition(value)];
}

/** Without a status, what is closed stays out unless everything is asked for. Literals, so that partial indexes apply. */
function statusIs({ status, all: everything }: BeadsQuery): Condition[] {
  if (status === undefined) return everything ? [] : [sql`b.status <> 'closed'`];
  if (status === 'closed') return [sql`b.status = 'closed'`];
  return [sql`b.status = ${sql.lit(status)} and b.status <> 'closed'`];
}

/** The text as given, and whom it names: asked once, not of each bead. */
function assigneeIs(streamId: number, text: string, rig = ''): Condition {
  return sql`b.assignee = any(array[${text}, (select agent_address(${streamId}, ${text}, ${rig}))])`;
}

/** The index over terms knows hashes of them; the row decides. */
function labelIs(streamId: number, label: string): Condition {
  return sql`${hasTerm(streamId, `l${label}`)} and b.labels @> array[${label}]`;
}

/** `key=value`, or `key` alone for any value. No value is the same as none at all. */
function metadataIs(streamId: number, term: string): Condition {
  const at = term.indexOf('=');
  if (at === -1) return sql`b.metadata ? ${term} and b.metadata ->> ${term} <> ''`;
  const [key, value] = [term.slice(0, at), term.slice(at + 1)];
  if (value === '') return sql`coalesce(b.metadata ->> ${key}, '') = ''`;
  return sql`${hasTerm(streamId, `m${term}`)} and b.metadata ->> ${key} = ${value}`;
}

function hasTerm(streamId: number, term: string): Condition {
  return sql`(b.labels <> '{}' or b.metadata <> '{}')
    and bead_terms(b.stream_id, b.labels, b.metadata) @> array[hashtextextended(${term}, ${streamId})]`;
}

/** The same instant in UTC, to the microsecond: offsets go further than Postgres takes them. */
function utc(text: string): string {
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '0';
  return `${new Date(text).toISOString().slice(0, 19)}.${fraction}Z`;
}
