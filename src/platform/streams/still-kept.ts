import { StreamExpired } from './channel.js';
import type { StreamLogRepository } from './stream-log.repository.js';

/**
 * Checks that retention has dropped nothing from a read that was filtered by type. There a dropped event leaves no gap that would show. Called after the
 * read, as the log drops nothing above the floor.
 *
 * @param read from which position each stream was read
 * @throws StreamExpired when the log now begins after one of them
 */
export async function assertStillKept(
  repository: Pick<StreamLogRepository, 'byId'>,
  read: readonly { readonly streamId: number; readonly after: number }[],
): Promise<void> {
  const floors = new Map((await repository.byId(read.map(({ streamId }) => streamId))).map(({ id, floor }) => [id, floor]));
  if (read.some(({ streamId, after }) => (floors.get(streamId) ?? 0) > after))
    throw new StreamExpired('the log begins after this position');
}
