import { expect, it } from '@jest/globals';
import { conversation } from './conversation.js';
import { BEGINS } from './entries.js';
import type { EntryRow } from './entry-row.js';

function entry(id: string, text: string, over: Partial<EntryRow> = {}): EntryRow {
  const fixed = { seq: 1, rev: 1, epoch: 1, generation: 1, turn: 1, raw: null, model: null, parent: null, at: '2026-01-01T00:00:00.000Z' };
  return { ...fixed, id, kind: 'message', role: 'assistant', status: 'final', blocks: [{ type: 'text', text }], ...over };
}

const texts = (...entries: EntryRow[]): string[] => conversation(entries, false).map(({ text }) => text);

it('joins the parts of one message, and no two messages', () => {
  expect(texts(entry('1.1', 'I am '), entry('1.2', 'on it.'), entry(`1.3${BEGINS}`, 'Do'), entry('1.4', 'ne.'))).toEqual([
    'I am on it.',
    'Done.',
  ]);
});

it('joins no parts of two turns', () => {
  expect(texts(entry('1.1', 'a'), entry('1.2', 'b', { turn: 2 }))).toEqual(['a', 'b']);
});
