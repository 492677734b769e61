import { sql, type RawBuilder } from 'kysely';
import { fromMicroseconds } from '../../../platform/database/microseconds.js';
import { formatPlace, parsePlace, type Place } from '../work/page-token.js';
import type { BeadsQuery } from './beads.schemas.js';
import { formatReadyPlace, parseReadyPlace, type ReadyPlace } from './ready-token.js';

export type Sort = NonNullable<BeadsQuery['sort']>;
/** A place in one of these orders: `createdAt` is when the bead was changed last in a list by that, and `priority` is there in one by urgency. */
export type ListPlace = Place & Partial<Pick<ReadyPlace, 'priority'>>;

/** SQL of an order: `by` of columns, whatever table they are of, and `after`, over alias `b`, of what follows a place. */
export interface Order {
  /** What it needs of a bead beside its id, and no more: an index that has this is read alone. */
  readonly columns: RawBuilder<unknown>;
  readonly by: RawBuilder<unknown>;
  readonly after: RawBuilder<unknown>;
  /** The list begins here: nothing of it comes before. */
  readonly begins: boolean;
  /** Of a row `p` of those columns, for the place of what comes next. */
  readonly at: RawBuilder<unknown>;
  readonly priority: RawBuilder<unknown>;
}

export function newest(after: ListPlace | undefined): Order {
  return {
    begins: after === undefined,
    columns: sql`b.created_at`,
    at: sql`p.created_at`,
    priority: sql`null`,
    by: sql`created_at desc, id desc`,
    after: after === undefined ? sql`true` : sql`(b.created_at, b.id) < (${fromMicroseconds(after.createdAt)}, ${after.id})`,
  };
}

export function changedLast(after: ListPlace | undefined): Order {
  return {
    begins: after === undefined,
    columns: sql`b.created_at, b.updated_at`,
    at: sql`coalesce(p.updated_at, p.created_at)`,
    priority: sql`null`,
    by: sql`coalesce(updated_at, created_at) desc, id desc`,
    after:
      after === undefined
        ? sql`true`
        : sql`(coalesce(b.updated_at, b.created_at), b.id) < (${fromMicroseconds(after.createdAt)}, ${after.id})`,
  };
}

/** The most urgent first, then the oldest: also the order of what is ready. */
export function mostUrgent(after: ListPlace | undefined): Order {
  return {
    begins: after === undefined,
    columns: sql`b.created_at, b.priority`,
    at: sql`p.created_at`,
    priority: sql`coalesce(p.priority, 2)`,
    by: sql`coalesce(priority, 2), created_at, id`,
    after:
      after === undefined
        ? sql`true`
        : sql`(coalesce(b.priority, 2), b.created_at, b.id) > (${after.priority ?? 2}::integer, ${fromMicroseconds(after.createdAt)}, ${after.id})`,
  };
}

interface Tokens {
  readonly format: (place: ReadyPlace) => string;
  /** @throws ProblemError invalid_cursor for anything that is not a token of this order. */
  readonly parse: (text: string | undefined) => ListPlace | undefined;
}

const byTime = (kind: string): Tokens => ({
  format: (place) => formatPlace(kind, place),
  parse: (text) => parsePlace(kind, text),
});

export const TOKENS: Readonly<Record<Sort, Tokens>> = {
  created_at: byTime('bead'),
  updated_at: byTime('bead-changed'),
  priority: { format: (place) => formatReadyPlace(place, 'bead-urgent'), parse: (text) => parseReadyPlace(text, 'bead-urgent') },
};
