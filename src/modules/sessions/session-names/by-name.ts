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

/**
 * As `byName`, for what is done already where the session has ended: if the name means nobody by then, it is done for the one that has ended.
 *
 * @param work gets the session that was found, and has to say what it finds under the lock before it takes that for done
 */
export function byNameOrEnded<T>(
  text: string,
  resolve: () => Promise<SessionRow>,
  work: (found: SessionRow, locked: (row: SessionRow) => void) => Promise<T>,
): Promise<T> {
  let ended: SessionRow | undefined;
  return byName(async () => {
    const found = await resolve().catch((error: unknown) => {
      if (ended === undefined || !(error instanceof ProblemError && error.problem === 'session_not_found')) throw error;
      return ended;
    });
    return work(found, (row) => {
      // Only so does another one take its place. Others that have ended were closed, which is more than whoever asks for less can want.
      if (row.close_code !== 'reconfigured' || ended?.pk === row.pk) return;
      ended = row;
      requireItsName(row, text);
    });
  });
}

/** Of a session that is locked, or was looked at. Its id means no other one. @throws ProblemError wrong_state for one that has ended since it was found by a name */
export function requireItsName({ id, state }: Pick<SessionRow, 'id' | 'state'>, text: string): void {
  if (state === 'closed' && text !== id) throw new EndedSince('wrong_state', `session ${id} is closed`);
}
