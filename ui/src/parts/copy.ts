import type { Message } from '../live/transcript.js';
import { done } from '../live/undo.js';

/** Into the clipboard. A browser may refuse it, as it does on pages that came over plain HTTP: that is told. */
export async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    done('This browser lets nothing be copied here');
    return false;
  }
}

export async function copy(text: string, what: string): Promise<void> {
  if (await isCopied(text)) done(`${what} is copied`);
}

export const copyAddress = (): void => void copy(location.href, 'The address');

/** The words of an entry as they were written. */
export function copyEntry(message: Message | undefined): void {
  const texts = message?.blocks.flatMap((block) => {
    const { text, thinking, content } = block as { text?: string; thinking?: string; content?: string };
    return [text, thinking, content].filter((one) => one !== undefined && one !== '');
  });
  if (texts !== undefined && texts.length > 0) void copy(texts.join('\n\n'), 'The text of the entry');
}
