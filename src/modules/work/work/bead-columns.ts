import { sql, type RawBuilder } from 'kysely';
import { beadJson } from './bead-json.js';

/** Of a bead `b`, all but its JSON. */
export const COLUMNS = sql`b.id, b.rig, b.title, b.status, b.issue_type, b.priority, b.assignee, b.parent, b.description, b.labels, b.metadata,
  b.defer_until, b.open_blockers, b.revision, b.claim_fence, b.lease_ms, b.lease_until, b.sling_source, b.run_id, b.ref,
  b.created_at, bead_is_ready(b) as ready`;
/** A `BeadRecord` of a bead `b`. */
export const RECORD = sql`${COLUMNS}, ${beadJson('b')} as snapshot`;

/**
 * Ids of a city, to join to: each is looked up by its key. With `= any` a plan that is made for all cities may go through an index of all that
 * the city has, where that is little on average.
 */
export const keys = (streamId: number, ids: readonly string[]): RawBuilder<unknown> =>
  sql`(select distinct ${streamId}::integer as stream_id, i.id from unnest(${[...ids]}::text[]) i (id)) k`;

/** Of `run_steps s`: nobody does it, what it has made or holds together decides. */
export const DECIDED = sql`(s.step ? 'control' or s.step ->> 'kind' = 'scope')`;
