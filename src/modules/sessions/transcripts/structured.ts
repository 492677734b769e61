import { createHash } from 'node:crypto';
import type { History } from '../../../contract/structured/history.schemas.js';
import type { Message } from '../../../contract/structured/messages.schemas.js';
import type { EntryRow, TranscriptHead } from './entry-row.js';

export const SCHEMA_VERSION = 'session.structured.v1';

/** An entry as a structured message; undefined for one that is only thoughts nobody asked for. */
export function messageOf(entry: EntryRow, provider: string, thinking: boolean): Message | undefined {
  if (entry.kind === 'thought' && !thinking) return undefined;
  const blocks = thinking ? entry.blocks : entry.blocks.filter(({ type }) => type !== 'thinking');
  if (blocks.length === 0 && entry.blocks.length > 0) return undefined;
  const { role, id, seq: place, status } = entry;
  const event = role === 'system' || role === 'unknown' ? systemEvent(entry) : undefined;
  const model = role === 'assistant' || role === 'unknown' ? entry.model : null;
  return {
    role,
    id,
    place,
    status,
    blocks,
    provider,
    timestamp: entry.at,
    ...(model === null ? {} : { model }),
    ...(event === undefined ? {} : { system_event: event }),
  } as Message;
}

function systemEvent({ raw, kind }: EntryRow): unknown {
  const [first] = raw ?? [];
  const said = (first as { system_event?: unknown } | undefined)?.system_event;
  return said ?? (kind === 'compaction' ? { kind } : undefined);
}

export interface HistoryFacts {
  /** The position that the answer is at. */
  readonly position: string;
  /** The entries of the answer, in the order of their places. */
  readonly entries: readonly EntryRow[];
  /** Ids of the questions that are open. */
  readonly pending: readonly string[];
  /** Whether the answer has everything up to the end, so that open tools can be told from it. */
  readonly whole: boolean;
}

/** What a structured answer says about the conversation as a whole. */
export function historyOf(head: TranscriptHead, { position, entries, pending, whole }: HistoryFacts): History {
  const last = entries.at(-1);
  const tools = whole ? { open_tool_call_ids: entries.filter(isOpenTool).flatMap(toolCallIds) } : {};
  return {
    gc_session_id: head.id,
    transcript_stream_id: hashed(`session ${head.pk}`),
    logical_conversation_id: hashed(`session ${head.pk} conversation ${head.epoch}`),
    ...(head.session_key === null ? {} : { provider_session_id: head.session_key }),
    generation: { id: hashed(`session ${head.pk} conversation ${head.epoch} process ${head.generation}`) },
    cursor: { resume_token: position, ...(last === undefined ? {} : { after_entry_id: last.id }) },
    continuity: {
      status: head.compactions > 0 ? 'compacted' : head.entries > 0 ? 'continuous' : 'unknown',
      compaction_count: head.compactions,
    },
    tail_state: {
      activity: head.activity === 'in-turn' ? 'in_turn' : 'idle',
      ...(last === undefined ? {} : { last_entry_id: last.id }),
      ...tools,
      pending_interaction_ids: [...pending],
    },
  };
}

function isOpenTool({ kind, status }: EntryRow): boolean {
  return kind === 'tool' && status === 'partial';
}

function toolCallIds({ blocks }: EntryRow): string[] {
  return blocks.flatMap(({ type, id }) => (type === 'tool_use' && typeof id === 'string' ? [id] : []));
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
