import type { OutputTurn } from '../../../contract/transcripts.schemas.js';
import type { Block } from '../../../platform/runtime/port.js';
import { BEGINS } from './entries.js';
import type { EntryRow } from './entry-row.js';

/** What of a tool's result a conversation shows, in characters. */
const RESULT_LENGTH = 500;

/**
 * An entry as a turn of a conversation, with an empty text when it shows nothing there: texts as they are, tools by their
 * names, the beginnings of their results, thoughts only when they are asked for. Sub-agents talk elsewhere.
 */
export function turnOf(entry: EntryRow, thinking: boolean): OutputTurn {
  const hidden = entry.status === 'superseded' || !isShown(entry, thinking);
  const text = hidden
    ? ''
    : entry.blocks
        .map((block) => textOf(block, thinking))
        .filter((part) => part !== '')
        .join('\n');
  return {
    role: entry.role,
    text,
    id: entry.id,
    ...(entry.status === 'partial' || entry.status === 'superseded' ? { status: entry.status } : {}),
    timestamp: entry.at,
  };
}

/** Whether an entry belongs into a conversation at all. */
export function isShown({ kind, parent }: EntryRow, thinking: boolean): boolean {
  return parent === null && (kind !== 'thought' || thinking);
}

/** The turns of consecutive entries: the parts of one long message are joined, what shows nothing is left out. */
export function conversation(entries: readonly EntryRow[], thinking: boolean): OutputTurn[] {
  const turns: OutputTurn[] = [];
  let last: EntryRow | undefined;
  for (const entry of entries) {
    const turn = turnOf(entry, thinking);
    if (turn.text === '') continue;
    if (last !== undefined && goesOn(last, entry)) {
      const joined = turns.at(-1)!;
      turns[turns.length - 1] = { ...joined, text: joined.text + turn.text, ...(turn.status === undefined ? {} : { status: turn.status }) };
    } else turns.push(turn);
    last = entry;
  }
  return turns;
}

/** What a runtime gave as an entry, such as some lines of a screen, is nobody's continuation; nor is the beginning of another message. */
const WHOLE = /^\d+\.e\./;

function goesOn(before: EntryRow, entry: EntryRow): boolean {
  return (
    (entry.kind === 'message' || entry.kind === 'thought') &&
    entry.role === 'assistant' &&
    before.kind === entry.kind &&
    before.role === entry.role &&
    before.turn === entry.turn &&
    before.generation === entry.generation &&
    !WHOLE.test(entry.id) &&
    !entry.id.endsWith(BEGINS)
  );
}

function textOf(block: Block, thinking: boolean): string {
  switch (block.type) {
    case 'text':
      return asText(block.text);
    case 'thinking':
      return thinking ? `[thinking] ${asText(block.thinking)}` : '';
    case 'tool_use':
      return `[${asText(block.name) || 'tool'}]`;
    case 'tool_result': {
      const content = asText(block.content);
      return content === '' ? '' : `[result] ${content.slice(0, RESULT_LENGTH).toWellFormed()}`;
    }
    case 'interaction': {
      const { prompt, kind } = (block.interaction ?? {}) as { prompt?: unknown; kind?: unknown };
      return `[question] ${asText(prompt) || asText(kind)}`.trim();
    }
    case 'image':
      return '[image]';
    case 'unknown':
      return asText(block.text) || asText(block.content);
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
