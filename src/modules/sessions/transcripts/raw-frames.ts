import type { SessionRawEntry } from '../../../contract/transcripts.schemas.js';
import type { Block } from '../../../platform/runtime/port.js';
import type { EntryRow } from './entry-row.js';

export interface RawFrames {
  readonly messages: unknown[];
  readonly entries: SessionRawEntry[];
}

/** The frames of entries as their agents wrote them; where none are kept, updates of the Agent Client Protocol that say the same. */
export function rawFrames(rows: readonly EntryRow[], thinking: boolean): RawFrames {
  const messages: unknown[] = [];
  const entries: SessionRawEntry[] = [];
  for (const row of rows) {
    if (row.kind === 'thought' && !thinking) continue;
    const frames = row.status === 'superseded' ? [] : framesOf(row);
    for (const frame of frames) messages.push(frame);
    entries.push({ id: row.id, status: row.status, frames: frames.length });
  }
  return { messages, entries };
}

function framesOf(row: EntryRow): readonly unknown[] {
  if (row.raw !== null && row.raw.length > 0) return row.raw;
  const sessionUpdate = `${row.kind === 'thought' ? 'agent_thought' : row.role === 'user' ? 'user_message' : 'agent_message'}_chunk`;
  return row.blocks.map((block) => ({ sessionUpdate, content: contentOf(block) }));
}

function contentOf(block: Block): unknown {
  if (block.type === 'text') return { type: 'text', text: block.text ?? '' };
  if (block.type === 'thinking') return { type: 'text', text: block.thinking ?? '' };
  return block;
}
