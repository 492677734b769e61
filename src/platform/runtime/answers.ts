import type { InteractionOption } from './port.js';

/** The words that stand for a kind of option, the preferred one first. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  approve: ['allow_once', 'allow_always'],
  approve_always: ['allow_always'],
  approve_accept_edits: ['allow_always'],
  deny: ['reject_once', 'reject_always'],
};

/**
 * The option that an answer means: an option's id, or approve, approve_always, approve_accept_edits or deny. `cancelled`
 * when nothing is chosen: for the word `cancel`, and for `deny` where no option refuses. Undefined when it means nothing.
 */
export function chooseOption(options: readonly InteractionOption[], action: string): string | undefined {
  if (options.some(({ id }) => id === action)) return action;
  if (action === 'cancel') return 'cancelled';
  for (const kind of Object.hasOwn(WORDS, action) ? WORDS[action]! : []) {
    const option = options.find((candidate) => candidate.kind === kind);
    if (option !== undefined) return option.id;
  }
  return action === 'deny' ? 'cancelled' : undefined;
}
