import { ProblemError } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import type { NamedSessions } from '../../sessions/session-names/named-sessions.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { isAsked, type WakeRequest } from '../../sessions/session-store/session-states.js';
import type { PoolDecision } from './pool-facts.js';
import type { PoolStateRepository } from './pool-state.repository.js';

type Draining = Pick<PoolDecision & { do: 'drain' }, 'reason' | 'wake'>;

/** Why a session that is told to end is wanted after that. A start that comes to nothing has used up what it was for, which the next one of the name is then to run for. */
export function wantedAfter(row: Pick<SessionRow, 'state' | 'wake_request'>, { reason, wake }: Draining): WakeRequest | undefined {
  return wake ?? (reason === 'reconfigured' && row.state === 'creating' && row.wake_request === null ? 'explicit' : undefined);
}

/** The same of one that has ended by itself meanwhile. A start for which there was no room is put off as a handover; other handovers have no time. */
function askedOf({ wake_request: asked, generation, not_before }: SessionRow): WakeRequest | undefined {
  if (isAsked(asked)) return asked;
  const startsAgain = asked === 'create' || (asked === 'handover' && not_before !== null);
  return startsAgain && generation > 0 ? 'explicit' : undefined;
}

interface Rooms {
  readonly repository: PoolStateRepository;
  readonly messages: MessageQueue;
  readonly named: NamedSessions;
}

/**
 * Makes the next session of a name, right before the one that has it ends, where something was sent to that one and waits, or somebody has asked for it to run: the next
 * one gets it, and runs. Where that one has conversations, the next one has them, and sleeps until something comes. Where it cannot be made, messages fail with their
 * session, and its conversations are nobody's.
 */
export async function handOver(
  changes: SessionChanges,
  config: CityConfig,
  row: SessionRow,
  { repository, messages, named }: Rooms,
): Promise<void> {
  const { named_identity: identity } = row;
  if (identity === null) return;
  const wake = (await messages.hasForNext(changes, row)) ? 'message' : askedOf(row);
  if (wake === undefined && !(await changes.hasForNext(row))) return;
  await repository.savepoint(changes.tx);
  try {
    const how = wake === undefined ? { asleep: true } : { wake };
    await messages.handOver(changes, row, await named.succeed(changes, config, identity, row, how));
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    await repository.rollback(changes.tx);
  }
}
