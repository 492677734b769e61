import { ExtmsgDeliveryFailed } from '../../../../contract/events/extmsg.events.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { factsOf, type Conversation } from '../conversations/conversation.js';
import type { DeliveryRow } from './deliveries.repository.js';

/** Nobody tries it any more unless somebody asks. */
export function deliveryFailed(
  stream: string,
  actor: string,
  delivery: Conversation & Pick<DeliveryRow, 'id' | 'direction' | 'selector' | 'session_id'>,
  code: string,
  why: string,
): NewEvent {
  const session = delivery.direction === 'outbound' ? delivery.session_id : delivery.selector;
  const { id, direction } = delivery;
  return event(ExtmsgDeliveryFailed, {
    stream,
    actor,
    subject: session,
    message: why.slice(0, 1_000).toWellFormed(),
    payload: { ...factsOf(delivery), delivery_id: id, direction, session, error_code: code },
  });
}
