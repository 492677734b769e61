import type { SessionChanges } from '../session-store/session-changes.js';
import type { SessionPatch, SessionRow } from '../session-store/session-row.js';

/**
 * Has a session started for a message unless a process is there, or on its way, that will stay. What keeps it from
 * starting for a while (a quarantine, a hold, a back-off) is left as it is.
 */
export async function wakeForMessage(changes: SessionChanges, row: SessionRow, at: Date): Promise<SessionRow> {
  const stays = row.runner_id !== null && row.stop_request === null && row.state !== 'suspended';
  if (stays) return row;
  const wanted: SessionPatch = row.wake_request === null ? { wake_request: 'message', wake_requested_at: at } : {};
  // The end of an old process may still be awaited; what was asked of that must not end what comes now.
  const ending: SessionPatch = row.runner_id === null ? {} : { stop_request: 'sleep' };
  switch (row.state) {
    case 'suspended':
    case 'archived':
      return changes.move(row, 'wake', { reason: null, set: { ...wanted, ...ending } });
    case 'failed-create':
      return changes.move(row, 'wake', { reason: null, set: { ...wanted, ...ending, failed_starts: 0, not_before: null } });
    default:
      return row.wake_request === null ? changes.patch(row, wanted) : row;
  }
}
