import type { ShownMessage } from './message-row.js';
import type { SessionMessageRecord } from './messages.schemas.js';

/** `cut` bounds the text, in characters. */
export function toMessageRecord(row: ShownMessage, cut = Infinity): SessionMessageRecord {
  const delayed = row.deliver_after.getTime() > row.created_at.getTime();
  return {
    id: row.id,
    status: row.status,
    intent: row.intent,
    source: row.source,
    sender: row.sender,
    message: row.body.length > cut ? wellFormed(row.body.slice(0, cut)) : row.body,
    ...(row.body.length > cut ? { truncated: true } : {}),
    ...(row.request_id === null ? {} : { request_id: row.request_id }),
    ...(row.reference === null ? {} : { reference: row.reference }),
    created_at: row.created_at.toISOString(),
    ...(delayed ? { deliver_after: row.deliver_after.toISOString() } : {}),
    expires_at: row.expires_at.toISOString(),
    ...(row.ended_at === null ? {} : { ended_at: row.ended_at.toISOString() }),
    ...(row.generation === null ? {} : { generation: row.generation }),
    ...(row.stop_reason === null ? {} : { stop_reason: row.stop_reason }),
    ...(row.error_code === null ? {} : { error_code: row.error_code }),
    ...(row.error_message === null ? {} : { error_message: row.error_message }),
  };
}

/** Without the half of a surrogate pair at its end. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1);
}
