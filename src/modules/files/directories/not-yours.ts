import { problem } from '../../../contract/problems.js';

/**
 * The one answer to a key of some cities only that names something else: whether that belongs to a city it may not see or to
 * nobody. It is given before anything on disk is looked at.
 */
export function notYours(): Error {
  return problem('forbidden', 'this key may only use names and directories of its own cities');
}
