import { ProblemError } from '../../../contract/problems.js';
import type { SessionRow } from '../session-store/session-row.js';

/** More than a name ever changes hands while somebody asks for its session. */
const LOOKS = 3;

class EndedSince extends ProblemError {}

/**
 * Does what is asked of the session that a name means. Where that has ended between the look and the lock, as `requireItsName` says, it is done for
 * whom the name means then, as for somebody who comes a moment later.
 */
export async function byName<T>(work: () => Promise<T>): Promise<T> {
  for (let looks = LOOKS; ; looks--)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EndedSince) || looks <= 1) throw error;
    }
}

/** Of a session that is locked, or was looked at. Its id means no other one. @throws ProblemError wrong_state for one that has ended since it was found by a name */
export function requireItsName({ id, state }: Pick<SessionRow, 'id' | 'state'>, text: string): void {
  if (state === 'closed' && text !== id) throw new EndedSince('wrong_state', `session ${id} is closed`);
}
