import { sql, type RawBuilder } from 'kysely';
import { marked } from '../../../platform/database/page-bytes.js';
import type { Block, EntryKind, EntryRole, EntryStatus } from '../../../platform/runtime/port.js';

/** An entry as a transcript shows it. */
export interface EntryRow {
  /** Its place. */
  readonly seq: number;
  /** The position at which it last changed. */
  readonly rev: number;
  readonly id: string;
  readonly epoch: number;
  readonly generation: number;
  readonly turn: number;
  readonly kind: EntryKind;
  readonly role: EntryRole;
  readonly status: EntryStatus;
  readonly blocks: readonly Block[];
  /** Null where no frames are kept, or where nobody asked for them. */
  readonly raw: readonly unknown[] | null;
  readonly model: string | null;
  readonly parent: string | null;
  /** RFC 3339, UTC. */
  readonly at: string;
}

/** The members of an `EntryRow` of the table `e`; frames are read only where they are shown. */
export function entryColumns(withRaw: boolean) {
  return sql`e.seq, e.rev, e.entry_id as id, e.epoch, e.generation, e.turn, e.kind, e.role, e.status, e.blocks,
    ${withRaw ? sql`e.raw` : sql`case when e.kind = 'system' then e.raw end`} as raw, e.model, e.parent_tool_use_id as parent,
    to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at`;
}

/**
 * SQL of the first of these `entries` (rows of the table, a bounded number of them) that are `bytes` long together; one at least.
 * First by what is stored, which is not read for it, then by what that is when it is read: it may have been compressed to a hundredth.
 */
export function entriesWithin(
  entries: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  bytes: number,
  withRaw: boolean,
): RawBuilder<unknown> {
  const room = { rows: sql.lit(Number.MAX_SAFE_INTEGER), bytes: sql.lit(bytes), first: sql.lit(true) };
  const of = (size: (column: RawBuilder<unknown>) => RawBuilder<number>): RawBuilder<number> => {
    const raw = sql<number>`coalesce(${size(sql`e.raw`)}, 0)`;
    const names = sql`coalesce(${size(sql`e.model`)}, 0) + coalesce(${size(sql`e.parent_tool_use_id`)}, 0) + ${size(sql`e.entry_id`)}`;
    return sql<number>`300 + ${names} + ${size(sql`e.blocks`)} + ${withRaw ? raw : sql<number>`case when e.kind = 'system' then ${raw} else 0 end`}`;
  };
  const stored = sql`select e.*, ${of((column) => sql`pg_column_size(${column})`)} as bytes from (${entries}) e`;
  const small = sql`select e.* from (${marked(stored, order, room, 'is_small')}) e where e.is_small`;
  const columns = sql`e.session_pk, e.seq, e.rev, e.entry_id, e.epoch, e.generation, e.turn, e.kind, e.role, e.status, e.blocks, e.raw, e.model,
    e.parent_tool_use_id, e.created_at`;
  const exact = sql`select ${columns}, ${of((column) => sql`octet_length(${column}::text)`)} as bytes from (${small}) e`;
  return sql`select e.* from (${marked(exact, order, room)}) e where e.fits`;
}

/** What an answer says about the session itself. */
export interface TranscriptHead {
  readonly pk: number;
  /** The session's id. */
  readonly id: string;
  readonly template: string;
  readonly provider: string;
  readonly state: string;
  readonly live: boolean;
  readonly generation: number;
  readonly epoch: number;
  readonly session_key: string | null;
  /** The newest position. */
  readonly head: number;
  readonly entries: number;
  readonly compactions: number;
  readonly activity: 'idle' | 'in-turn';
  readonly activity_rev: number;
}

/** By how much the positions of a session are moved on where an epoch of the log begins: those of an agent's frames have nine digits for them. */
export const SESSION_STEP = 10_000_000;

/** Whether an epoch began between two positions of a session: what its readers have may be lost, so it is somewhat less than a step. */
export function beginsEpoch(position: number, upto: number): boolean {
  return position > 0 && upto - position > SESSION_STEP / 2;
}

export const HEAD_COLUMNS = sql`s.pk, s.id, s.template, s.provider, s.state, s.live, s.generation, s.epoch, s.session_key, l.head, l.entries,
  l.compactions, l.activity, l.activity_rev`;

export const FORMATS = ['conversation', 'raw', 'structured'] as const;
export type Format = (typeof FORMATS)[number];
