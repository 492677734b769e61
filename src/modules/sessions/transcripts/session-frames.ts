import type { Frame } from '../../../platform/streams/channel.js';
import { frameText, keptBytes } from '../../../platform/streams/sse.js';
import { toPendingInteraction } from '../interactions/pending-interaction.js';
import { isShown, turnOf } from './conversation.js';
import type { EntryRow, Format, TranscriptHead } from './entry-row.js';
import type { Changes, OpenInteraction } from './live-reads.repository.js';
import { rawFrames } from './raw-frames.js';
import { historyOf, messageOf, SCHEMA_VERSION } from './structured.js';

/** Entries that change together go in frames of so many. */
const FRAME_ENTRIES = 64;

/** How the frames of a group of subscribers look. */
export interface View {
  readonly format: Format | 'agent';
  readonly thinking: boolean;
  /** Of the format `agent`: whose output it is. */
  readonly agent?: string;
  /** The id of a position of a session. */
  readonly id: (pk: number, rev: number) => string;
}

export interface DataOptions {
  readonly pending: readonly string[];
  readonly position: string;
  readonly operation?: 'snapshot' | 'upsert' | 'reset';
  readonly resetReason?: 'resume_invalid' | 'cursor_invalidated';
  readonly pagination?: object;
  readonly whole?: boolean;
}

export const plainId = (_pk: number, rev: number): string => String(rev);

/**
 * What has changed between two positions as frames, in the order of positions. Each carries the position up to which the
 * client then has everything; an entry that has changed comes again, whole.
 */
export function framesOf(changes: Changes, from: number, upto: number, view: View): Frame[] {
  const events: { readonly rev: number; readonly text: (id: string) => string }[] = [];
  if (changes.activity_rev > from && changes.activity_rev <= upto)
    events.push({ rev: changes.activity_rev, text: (id) => activityFrame(id, changes.activity, view) });
  for (const one of changes.opened)
    if (one.rev > from && one.rev <= upto) events.push({ rev: one.rev, text: (id) => pendingFrame(id, one, view) });
  for (const { rev, opened_rev, request_id } of changes.cleared)
    if (rev > from && rev <= upto && opened_rev <= from) events.push({ rev, text: (id) => clearedFrame(id, request_id, view) });
  events.sort((a, b) => a.rev - b.rev);

  const frames: Frame[] = [];
  let after = from;
  const add = (rev: number, text: string): void => {
    if (text === '') return;
    const bytes = keptBytes(text);
    frames.push({ bytes, bodyAt: text.indexOf('\n') + 1, streamId: changes.pk, seq: rev, after });
    after = rev;
  };
  let group: EntryRow[] = [];
  const flush = (): void => {
    const last = group.at(-1);
    if (last !== undefined) add(last.rev, entriesFrame(changes, group, view));
    group = [];
  };
  let next = 0;
  for (const row of changes.rows) {
    if (row.rev <= from || row.rev > upto) continue;
    while (next < events.length && events[next]!.rev < row.rev) {
      flush();
      const { rev, text } = events[next++]!;
      add(rev, text(view.id(changes.pk, rev)));
    }
    group.push(row);
    if (group.length >= FRAME_ENTRIES) flush();
  }
  flush();
  for (const { rev, text } of events.slice(next)) add(rev, text(view.id(changes.pk, rev)));
  return frames;
}

/** The frame of entries that changed together; '' when they show nothing in this view. */
function entriesFrame(changes: Changes, rows: readonly EntryRow[], view: View): string {
  const id = view.id(changes.pk, rows.at(-1)!.rev);
  return dataFrame(id, changes, rows, view, { pending: changes.pending, position: id, operation: 'upsert' });
}

/** A frame of the view's own kind; '' for an upsert that shows nothing. */
export function dataFrame(
  id: string | undefined,
  head: TranscriptHead,
  rows: readonly EntryRow[],
  view: View,
  options: DataOptions,
): string {
  const { operation = 'upsert', pagination, pending, position, resetReason, whole = false } = options;
  const about = { id: head.id, template: head.template, provider: head.provider };
  const paged = pagination === undefined ? {} : { pagination };
  const update = operation === 'upsert';
  switch (view.format) {
    case 'agent':
    case 'conversation': {
      const shown = rows.filter((row) => isShown(row, view.thinking));
      // What has come to show nothing is told, too: the client may have it with a text.
      const turns = shown.map((row) => turnOf(row, view.thinking)).filter(({ text }) => update || text !== '');
      if (update && turns.length === 0) return '';
      const body =
        view.format === 'agent'
          ? { agent: view.agent, format: 'conversation', session_id: head.id, turns, ...paged }
          : { ...about, format: 'conversation', turns, ...paged };
      return frameText(id, 'turn', JSON.stringify(body));
    }
    case 'raw': {
      const { messages, entries } = rawFrames(rows, view.thinking);
      if (update && entries.length === 0) return '';
      return frameText(id, 'message', JSON.stringify({ ...about, format: 'raw', messages, entries, ...paged }));
    }
    case 'structured': {
      const structured_messages = rows.flatMap((row) => messageOf(row, head.provider, view.thinking) ?? []);
      if (update && structured_messages.length === 0) return '';
      const inPlace = [...rows].sort((a, b) => a.seq - b.seq);
      const body = {
        ...about,
        format: 'structured',
        schema_version: SCHEMA_VERSION,
        operation,
        ...(resetReason === undefined ? {} : { reset_reason: resetReason }),
        history: historyOf(head, { position, entries: inPlace, pending, whole }),
        structured_messages,
        ...paged,
      };
      return frameText(id, 'structured', JSON.stringify(body));
    }
  }
}

/** Agent output has turns and nothing else. */
export function activityFrame(id: string | undefined, activity: string, { format }: View): string {
  return format === 'agent' ? '' : frameText(id, 'activity', JSON.stringify({ activity }));
}

export function pendingFrame(id: string | undefined, one: OpenInteraction, { format }: View): string {
  if (format === 'agent') return '';
  return frameText(id, 'pending', JSON.stringify(toPendingInteraction({ ...one, opened_at: new Date(one.opened_at) })));
}

function clearedFrame(id: string, requestId: string, { format }: View): string {
  return format === 'agent' ? '' : frameText(id, 'pending_cleared', JSON.stringify({ request_id: requestId }));
}
