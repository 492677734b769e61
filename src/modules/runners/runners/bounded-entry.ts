import { cutTexts, ENTRY_BYTES, sizeOf } from '../../../platform/runtime/limits.js';
import type { Block } from '../../../platform/runtime/port.js';
import type { EntryWrite } from '../../sessions/transcripts/entries.js';

/**
 * An entry that is not too large to be stored and sent again: of one that is, first the frames are left out, then its long
 * texts are cut. `bytes` is about what it takes.
 */
export function boundedEntry(entry: EntryWrite): { readonly entry: EntryWrite; readonly bytes: number } {
  const blocks = sizeOf(entry.blocks);
  const raw = entry.raw === undefined ? 0 : sizeOf(entry.raw);
  if (blocks + raw <= ENTRY_BYTES) return { entry, bytes: blocks + raw };
  const { raw: _left, ...without } = entry;
  if (blocks <= ENTRY_BYTES) return { entry: without, bytes: blocks };
  const cut = entry.blocks.map((block) => cutTexts(block) as Block);
  const bytes = sizeOf(cut);
  if (bytes <= ENTRY_BYTES) return { entry: { ...without, blocks: cut }, bytes };
  const text = `[an entry of ${blocks} bytes was left out]`;
  return { entry: { ...without, blocks: [{ type: 'text', text }] }, bytes: text.length };
}
