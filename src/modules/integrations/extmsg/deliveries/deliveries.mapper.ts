import { toRef } from '../conversations/conversation.js';
import type { DeliveryRow } from './deliveries.repository.js';
import type { ExtmsgDelivery } from './deliveries.schemas.js';

/** Characters of a text that a list shows. */
const CUT = 1_024;

export function toDelivery(row: DeliveryRow): ExtmsgDelivery {
  const text = row.body.length > CUT ? row.body.slice(0, CUT).replace(/[\ud800-\udbff]$/, '') : row.body;
  return {
    id: row.id,
    direction: row.direction,
    state: row.state,
    conversation: toRef(row),
    ...(row.sequence === null ? {} : { sequence: row.sequence }),
    session: row.direction === 'outbound' ? row.session_id : row.selector,
    text,
    ...(row.message_id === null ? {} : { message_id: row.message_id }),
    attempts: row.attempts,
    ...(row.error_code === null ? {} : { error_code: row.error_code }),
    ...(row.error === null ? {} : { error: row.error }),
    created_at: row.created_at.toISOString(),
    ...(row.state === 'pending' ? { next_attempt_at: row.not_before.toISOString() } : {}),
    ...(row.ended_at === null ? {} : { ended_at: row.ended_at.toISOString() }),
  };
}
