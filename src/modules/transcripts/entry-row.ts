import { sql } from 'kysely';
import type { Block, EntryKind, EntryRole, EntryStatus } from '../../platform/runtime/port.js';

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

export const HEAD_COLUMNS = sql`s.pk, s.id, s.template, s.provider, s.state, s.live, s.generation, s.epoch, s.session_key, l.head, l.entries,
  l.compactions, l.activity, l.activity_rev`;

export const FORMATS = ['conversation', 'raw', 'structured'] as const;
export type Format = (typeof FORMATS)[number];
