import { problem } from '../../../contract/problems.js';
import type { InteractionOption } from '../../../platform/runtime/port.js';

/** Words for kinds of options. A word never stands for more than it says: `approve` chooses nothing that lasts. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  approve: ['allow_once'],
  approve_always: ['allow_always'],
  approve_accept_edits: ['allow_always'],
  deny: ['reject_once', 'reject_always'],
};

/**
 * The id of the option that an answer means: its id, else its label, else a word for its kind where that is clear. Where
 * nothing is offered the word itself is the answer.
 *
 * @throws ProblemError invalid_request naming what is allowed.
 */
export function chosen(options: readonly InteractionOption[], action: string): string {
  if (options.length === 0) return action;
  const labelled = options.filter(({ label }) => label === action);
  const meant = options.find(({ id }) => id === action) ?? (labelled.length === 1 ? labelled[0] : byWord(options, action));
  if (meant !== undefined) return meant.id;
  throw problem('invalid_request', `unknown action "${action}"; allowed: ${allowed(options).join(', ')}`, {
    at: 'body.action',
    value: action,
  });
}

/** Everything that an answer may say: the ids, then the words that fit. */
export function allowed(options: readonly InteractionOption[]): string[] {
  const words = Object.keys(WORDS).filter((word) => byWord(options, word) !== undefined);
  return [...new Set([...options.map(({ id }) => id), ...words])];
}

function byWord(options: readonly InteractionOption[], word: string): InteractionOption | undefined {
  for (const kind of Object.hasOwn(WORDS, word) ? WORDS[word]! : []) {
    const fitting = options.filter((option) => option.kind === kind);
    if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
  }
  return undefined;
}
