import { ProblemError } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import type { NamedSessions } from '../../sessions/session-names/named-sessions.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { PoolStateRepository } from './pool-state.repository.js';

interface Rooms {
  readonly repository: PoolStateRepository;
  readonly messages: MessageQueue;
  readonly named: NamedSessions;
}

/**
 * Makes the next session of a name, right before the one that has it ends, where something was sent to that one and waits: the next one gets it. Where it cannot be made,
 * messages fail with their session.
 */
export async function handOver(
  changes: SessionChanges,
  config: CityConfig,
  row: SessionRow,
  { repository, messages, named }: Rooms,
): Promise<void> {
  const { named_identity: identity } = row;
  if (identity === null || !(await messages.hasForNext(changes, row))) return;
  await repository.savepoint(changes.tx);
  try {
    await messages.handOver(changes, row, await named.succeed(changes, config, identity, row, { wake: 'message' }));
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    await repository.rollback(changes.tx);
  }
}
