import type { Block } from '../../../platform/runtime/port.js';
import type { EntryWrite } from '../../sessions/transcripts/entries.js';

const MAX_BYTES = 512 * 1024;
const MAX_TEXT = 32 * 1024;
const CUT = '\n[…]';

/**
 * An entry that is not too large to be stored and sent again: of one that is, first the frames are left out, then its long
 * texts are cut. `bytes` is about what it takes.
 */
export function boundedEntry(entry: EntryWrite): { readonly entry: EntryWrite; readonly bytes: number } {
  const blocks = sizeOf(entry.blocks);
  const raw = entry.raw === undefined ? 0 : sizeOf(entry.raw);
  if (blocks + raw <= MAX_BYTES) return { entry, bytes: blocks + raw };
  const { raw: _left, ...without } = entry;
  if (blocks <= MAX_BYTES) return { entry: without, bytes: blocks };
  const cut = entry.blocks.map((block) => cutTexts(block) as Block);
  const bytes = sizeOf(cut);
  if (bytes <= MAX_BYTES) return { entry: { ...without, blocks: cut }, bytes };
  const text = `[an entry of ${blocks} bytes was left out]`;
  return { entry: { ...without, blocks: [{ type: 'text', text }] }, bytes: text.length };
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

function cutTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.length <= MAX_TEXT ? value : value.slice(0, MAX_TEXT).toWellFormed() + CUT;
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cutTexts(member)]));
  return value;
}
