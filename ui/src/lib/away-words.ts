import type { StreamState } from '../live/messages.js';
import { visible } from './text.js';

export const NO_ANSWER = 'The service does not answer';

/** Why no event comes, in a few words; undefined while it is tried again: what was said last still counts. */
export function awayWords(state: StreamState | undefined, online: boolean): string | undefined {
  if (!online) return 'This browser is offline';
  if (state?.kind !== 'waiting') return undefined;
  return state.answered === true ? `The service answers: ${visible(state.why)}` : NO_ANSWER;
}
