import type { Block, EntryKind, EntryRole, EntryStatus } from '../../../platform/runtime/port.js';

/** Ends the id of an entry that begins another message, or thought, than the one of its process before it. */
export const BEGINS = '.m';

/** One entry as the runner records it; the same id again replaces what was there and keeps its place. */
export interface EntryWrite {
  /** Unique in the session for ever: `<generation>.<n>` for what a process said, with `BEGINS` where that is another message. */
  readonly entryId: string;
  readonly kind: EntryKind;
  readonly role: EntryRole;
  readonly status: EntryStatus;
  readonly blocks: readonly Block[];
  readonly raw?: readonly unknown[] | undefined;
  readonly model?: string | undefined;
  readonly parentToolUseId?: string | undefined;
  readonly turn: number;
}

/** What a runner says about a session at once, under the generation that it holds. */
export interface LogWrite {
  readonly sessionPk: number;
  readonly generation: number;
  readonly epoch: number;
  readonly entries: readonly EntryWrite[];
  readonly activity?: 'idle' | 'in-turn' | undefined;
  readonly model?: string | undefined;
  readonly contextUsed?: number | undefined;
  readonly contextWindow?: number | undefined;
}

/** What the service itself says in a transcript. */
export interface LogNote {
  /** Unique in the session; the same id again changes the note that is there. */
  readonly id?: string | undefined;
  /** `compaction` where the conversation begins anew: tails count from there. */
  readonly kind?: 'system' | 'compaction' | undefined;
  readonly text: string;
  /** What has happened, for programs, such as `closed`. */
  readonly event?: string | undefined;
}
