import { sql, type RawBuilder } from 'kysely';
import { utc } from '../../../contract/scalars.js';
import { mostUrgent, newest } from './bead-order.js';
import type { BeadsQuery, ReadyQuery } from './beads.schemas.js';

type Condition = RawBuilder<unknown>;

/** The type that the index over types leaves out. */
const MOST = 'task';

/** What a list shows, as SQL over alias `b` (`beads`). All of it has to hold. */
export interface BeadFilter {
  /** What the indexes answer. */
  readonly held: readonly Condition[];
  /** Whose the beads are: no bead is in two of these. None: anybody's. */
  readonly whose: readonly Condition[];
  /** Parts of what is held: no bead is in two of these, each of which has an index in the order of the list. None: all of it has. */
  readonly parts: readonly Condition[];
  /** What each bead that is held is looked at for. */
  readonly looked: readonly Condition[];
  /** An order in which an index has what is held. */
  readonly walked: RawBuilder<unknown>;
  /** Those of `looked` that the index over terms finds, too: as `bead_terms` names them. */
  readonly terms: readonly string[];
  /** How its next beads are looked for; undefined where those that are held come in the order of the list, or are few. */
  readonly walk: Walk | undefined;
}

/**
 * The next beads of a list, as its index has them. `held` and `looked` part the same filter as any index may answer it, for the total and for all of
 * the city: to ask the one index for those would read past any number of beads that it does not know to be of the list.
 */
export interface Walk {
  /** What that index knows. */
  readonly keyed: readonly Condition[];
  /** What is left to look at of each bead. */
  readonly left: readonly Condition[];
  /** Another index knows just these. */
  readonly known: boolean;
}

export function matchesList(streamId: number, query: BeadsQuery): BeadFilter {
  const { type, rig, parent, text, priority, blocked, label } = query;
  const metadata = (query.metadata ?? []).map(metadataIs);
  const whose = whoseAre(streamId, query);
  const typeIs = when(type, (value) => sql`b.issue_type = ${value}`);
  const ofCity = sql`b.stream_id = ${streamId}`;
  const status = statusIs(query);
  const created = [
    ...when(query.created_after, (value) => sql`b.created_at > ${utc(value)}::timestamptz`),
    ...when(query.created_before, (value) => sql`b.created_at < ${utc(value)}::timestamptz`),
  ];
  const changed = [
    ...when(query.updated_after, (value) => sql`coalesce(b.updated_at, b.created_at) > ${utc(value)}::timestamptz`),
    ...when(query.updated_before, (value) => sql`coalesce(b.updated_at, b.created_at) < ${utc(value)}::timestamptz`),
  ];
  const others = [
    ...when(label, hasLabel),
    ...when(rig, (value) => sql`b.rig = ${value}`),
    ...metadata.map(({ looked }) => looked),
    ...when(text, (value) => sql`(strpos(lower(b.title), lower(${value})) > 0 or strpos(lower(b.description), lower(${value})) > 0)`),
    ...when(priority, (value) => sql`b.priority = ${value}`),
    ...when(blocked, (value) => (value ? sql`b.open_blockers > 0` : sql`b.open_blockers = 0`)),
  ];
  const terms = [...labelTerm(label), ...metadata.flatMap(({ term }) => term)];
  const unkeyed = [...anyOf(whose), ...typeIs, ...others];
  // By change there is one index, of all beads. Children are few and have another, and for terms there is a way of its own.
  const isWalked = query.sort === 'updated_at' && unkeyed.length > 0 && parent === undefined && terms.length === 0;
  return {
    held: [ofCity, ...status, ...(type === MOST ? [] : typeIs), ...when(parent, (value) => sql`b.parent = ${value}`), ...created],
    whose,
    parts: query.sort === 'priority' ? urgentOf(query, whose) : whose,
    looked: [...(type === MOST ? typeIs : []), ...others, ...changed],
    walked: newest(undefined).by,
    terms,
    walk: isWalked
      ? {
          keyed: [ofCity, ...changed],
          left: [...status, ...created, ...unkeyed],
          known: whose.length > 0 || (type !== undefined && type !== MOST),
        }
      : undefined,
  };
}

export function matchesReady(streamId: number, query: ReadyQuery): BeadFilter {
  const routed = when(query.routed_to, (value) => sql`b.routed_to = ${value}`);
  const whose = whoseAre(streamId, query);
  return {
    held: [
      sql`b.stream_id = ${streamId} and bead_is_ready(b)`,
      ...(query.unassigned ? [sql`b.assignee is null`] : []),
      ...(query.unassigned ? routed : []),
    ],
    whose,
    parts: whose,
    looked: [...(query.unassigned ? [] : routed), ...when(query.label, hasLabel), ...when(query.rig, (value) => sql`b.rig = ${value}`)],
    walked: mostUrgent(undefined).by,
    terms: labelTerm(query.label),
    walk: undefined,
  };
}

export const anyOf = (conditions: readonly Condition[]): Condition[] =>
  conditions.length === 0 ? [] : [sql`(${sql.join(conditions, sql` or `)})`];

export function all(conditions: readonly Condition[]): RawBuilder<boolean> {
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** The index over terms has them all; it knows hashes, so that the bead decides. */
export function hasTerms(streamId: number, terms: readonly string[]): RawBuilder<boolean> {
  const numbers = terms.map((term) => sql`hashtextextended(${term}, ${streamId})`);
  return sql<boolean>`(b.labels <> '{}' or b.metadata <> '{}') and bead_terms(b.stream_id, b.labels, b.metadata) @> array[${sql.join(numbers)}]`;
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

/**
 * By urgency no index has all that is unclosed: what is ready has one, and the rest, by its status, as has what is somebody's. Literals, so that
 * partial indexes apply.
 */
function urgentOf({ status, all: everything }: BeadsQuery, whose: readonly Condition[]): readonly Condition[] {
  if (status === undefined ? everything : status === 'closed') return whose;
  const statuses = (['open', 'in_progress'] as const).filter((one) => status === undefined || status === one);
  const is = (one: 'open' | 'in_progress'): Condition => sql`b.status = ${sql.lit(one)}`;
  if (whose.length > 0) return whose.flatMap((of) => statuses.map((one) => sql`${of} and ${is(one)}`));
  return statuses.flatMap((one) =>
    one === 'open'
      ? [sql`${is(one)} and b.workable and b.open_blockers = 0`, sql`${is(one)} and (not b.workable or b.open_blockers <> 0)`]
      : [is(one)],
  );
}

const hasLabel = (label: string): Condition => sql`b.labels @> array[${label}]`;
const labelTerm = (label: string | undefined): string[] => (label === undefined ? [] : [`l${label}`]);

/** `key=value`, or `key` alone for any value. No value is the same as none at all. */
function metadataIs(term: string): { readonly looked: Condition; readonly term: string[] } {
  const at = term.indexOf('=');
  if (at === -1) return { looked: sql`b.metadata ? ${term} and b.metadata ->> ${term} <> ''`, term: [] };
  const [key, value] = [term.slice(0, at), term.slice(at + 1)];
  if (value === '') return { looked: sql`coalesce(b.metadata ->> ${key}, '') = ''`, term: [] };
  return { looked: sql`b.metadata ->> ${key} = ${value}`, term: [`m${term}`] };
}
