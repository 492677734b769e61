import { storableText } from '../../../contract/storable.js';
import { shortId } from '../limits.js';
import type { Block } from '../port.js';
import type { ContentBlock } from './schemas.js';

/** The words of a block, or a few in its place. */
export function textOf(block: ContentBlock): string {
  if (block.type === 'text') return block.text ?? '';
  if (block.resource?.text !== undefined) return block.resource.text;
  return `[${block.name ?? block.uri ?? block.resource?.uri ?? block.type}]`;
}

/** A block that is more than words. */
export function blockOf(block: ContentBlock): Block {
  if (block.type !== 'image')
    return { type: 'unknown', text: textOf(block), ...(block.mimeType === undefined ? {} : { mime_type: block.mimeType }) };
  const url = block.uri ?? (block.data === undefined ? undefined : `data:${block.mimeType ?? 'image/png'};base64,${block.data}`);
  return {
    type: 'image',
    ...(url === undefined ? {} : { image_url: url }),
    ...(block.mimeType === undefined ? {} : { mime_type: block.mimeType }),
  };
}

/** What an agent says in its own members, where the protocol has none for it: they stand beside others or below its name. */
export function memberOf(meta: Readonly<Record<string, unknown>> | undefined, name: 'parentToolUseId' | 'toolName'): string | undefined {
  for (const own of [meta, ...Object.values(meta ?? {})]) {
    if (typeof own !== 'object' || own === null) continue;
    const value = (own as Record<string, unknown>)[name];
    if (typeof value === 'string' && value !== '') return shortId(storableText(value));
  }
  return undefined;
}
