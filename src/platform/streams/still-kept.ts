import { StreamExpired } from './channel.js';
import type { StreamLogRepository } from './stream-log.repository.js';

/**
 * Between events of some types there are gaps, so what retention has dropped does not show in what was read. Asked after each such read: the
 * log drops nothing that is above the floor.
 *
 * @param read from which position each stream was read
 * @throws StreamExpired when the log begins after one of them
 */
export async function assertStillKept(
  repository: Pick<StreamLogRepository, 'byId'>,
  read: readonly { readonly streamId: number; readonly after: number }[],
): Promise<void> {
  const floors = new Map((await repository.byId(read.map(({ streamId }) => streamId))).map(({ id, floor }) => [id, floor]));
  if (read.some(({ streamId, after }) => (floors.get(streamId) ?? 0) > after))
    throw new StreamExpired('the log begins after this position');
}
