import { sql, type RawBuilder } from 'kysely';
import { mostUrgent, newest } from './bead-order.js';
import type { BeadsQuery, ReadyQuery } from './beads.schemas.js';

type Condition = RawBuilder<unknown>;

/** The type that the index over types leaves out. */
const MOST = 'task';

/** What a list shows, as SQL over alias `b` (`beads`). All of it has to hold. */
export interface BeadFilter {
  /** What the indexes answer. */
  readonly held: readonly Condition[];
  /** Whose the beads are: no bead is in two of these, each of which has an index in the order of the list. None: anybody's. */
  readonly whose: readonly Condition[];
  /** What each bead that is held is looked at for. */
  readonly looked: readonly Condition[];
  /** An order in which an index has what is held. */
  readonly walked: RawBuilder<unknown>;
  /** Those of `looked` that the index over terms finds, too: numbers of `bead_terms`. */
  readonly terms: readonly RawBuilder<unknown>[];
}

export function matchesList(streamId: number, query: BeadsQuery): BeadFilter {
  const { type, rig, parent, text, priority, blocked, label } = query;
  const metadata = (query.metadata ?? []).map((term) => metadataIs(streamId, term));
  const typeIs = when(type, (value) => sql`b.issue_type = ${value}`);
  return {
    held: [
      sql`b.stream_id = ${streamId}`,
      ...statusIs(query),
      ...(type === MOST ? [] : typeIs),
      ...when(parent, (value) => sql`b.parent = ${value}`),
      ...when(query.created_after, (value) => sql`b.created_at > ${utc(value)}::timestamptz`),
      ...when(query.created_before, (value) => sql`b.created_at < ${utc(value)}::timestamptz`),
    ],
    whose: whoseAre(streamId, query),
    looked: [
      ...(type === MOST ? typeIs : []),
      ...when(label, hasLabel),
      ...when(rig, (value) => sql`b.rig = ${value}`),
      ...metadata.map(({ looked }) => looked),
      ...when(text, (value) => sql`(strpos(lower(b.title), lower(${value})) > 0 or strpos(lower(b.description), lower(${value})) > 0)`),
      ...when(priority, (value) => sql`b.priority = ${value}`),
      ...when(blocked, (value) => (value ? sql`b.open_blockers > 0` : sql`b.open_blockers = 0`)),
      ...when(query.updated_after, (value) => sql`coalesce(b.updated_at, b.created_at) > ${utc(value)}::timestamptz`),
      ...when(query.updated_before, (value) => sql`coalesce(b.updated_at, b.created_at) < ${utc(value)}::timestamptz`),
    ],
    walked: newest(undefined).by,
    terms: [...when(label, (value) => labelTerm(streamId, value)), ...metadata.flatMap(({ term }) => term)],
  };
}

export function matchesReady(streamId: number, query: ReadyQuery): BeadFilter {
  const routed = when(query.routed_to, (value) => sql`b.routed_to = ${value}`);
  return {
    held: [
      sql`b.stream_id = ${streamId} and bead_is_ready(b)`,
      ...(query.unassigned ? [sql`b.assignee is null`] : []),
      ...(query.unassigned ? routed : []),
    ],
    whose: whoseAre(streamId, query),
    looked: [...(query.unassigned ? [] : routed), ...when(query.label, hasLabel), ...when(query.rig, (value) => sql`b.rig = ${value}`)],
    walked: mostUrgent(undefined).by,
    terms: when(query.label, (value) => labelTerm(streamId, value)),
  };
}

export function all(conditions: readonly Condition[]): RawBuilder<boolean> {
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** The index over terms has them all; it knows hashes, so that the bead decides. */
export function hasTerms(terms: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  return sql<boolean>`(b.labels <> '{}' or b.metadata <> '{}') and bead_terms(b.stream_id, b.labels, b.metadata) @> array[${sql.join(terms)}]`;
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
function whoseAre(streamId: number, { assignee, rig = '' }: { assignee?: string | undefined; rig?: string | undefined }): Condition[] {
  if (assignee === undefined) return [];
  return [sql`b.assignee = ${assignee}`, sql`b.assignee = nullif((select agent_address(${streamId}, ${assignee}, ${rig})), ${assignee})`];
}

const hasLabel = (label: string): Condition => sql`b.labels @> array[${label}]`;
const labelTerm = (streamId: number, label: string): RawBuilder<unknown> => termOf(streamId, `l${label}`);
const termOf = (streamId: number, term: string): RawBuilder<unknown> => sql`hashtextextended(${term}, ${streamId})`;

/** `key=value`, or `key` alone for any value. No value is the same as none at all. */
function metadataIs(streamId: number, term: string): { readonly looked: Condition; readonly term: RawBuilder<unknown>[] } {
  const at = term.indexOf('=');
  if (at === -1) return { looked: sql`b.metadata ? ${term} and b.metadata ->> ${term} <> ''`, term: [] };
  const [key, value] = [term.slice(0, at), term.slice(at + 1)];
  if (value === '') return { looked: sql`coalesce(b.metadata ->> ${key}, '') = ''`, term: [] };
  return { looked: sql`b.metadata ->> ${key} = ${value}`, term: [termOf(streamId, `m${term}`)] };
}

/** The same instant in UTC, to the microsecond: offsets go further than Postgres takes them. */
function utc(text: string): string {
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '0';
  return `${new Date(text).toISOString().slice(0, 19)}.${fraction}Z`;
}
