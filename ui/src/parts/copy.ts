import type { Message } from '../live/transcript.js';
import { done } from '../live/undo.js';

/** Into the clipboard, and says so; a browser may refuse it, as it does on pages that came over plain HTTP. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    done(`${what} is copied`);
  } catch {
    done('This browser lets nothing be copied here');
  }
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
