import { ExtmsgInbound } from '../../../../contract/events/extmsg.events.js';
import type { Principal } from '../../../../contract/principal.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { newId } from '../../../../platform/time/clock.js';
import { toBinding } from '../bindings/bindings.mapper.js';
import type { BindingRow } from '../bindings/bindings.repository.js';
import { factsOf, type Conversation, type ConversationRow } from '../conversations/conversation.js';
import type { MemberDelivery } from '../deliveries/deliveries.repository.js';
import { deliveriesOf } from '../deliveries/telling.service.js';
import { handleOf } from '../groups/groups.service.js';
import { decide, type Decision } from '../groups/route.js';
import { toEntry } from '../transcript/transcript.mapper.js';
import type { EntryRow, NewEntry } from '../transcript/transcript.repository.js';
import type { Found } from './found.js';
import type { ExternalInboundMessage, GroupRouteDecision, InboundResult } from './inbound.schemas.js';

/** A message from outside that somebody has brought to a city. */
export interface Intake {
  readonly city: string;
  readonly conversation: Conversation;
  readonly onceKey: string;
  readonly message: ExternalInboundMessage;
  readonly caller: Principal;
}

/** What is written of a message that somebody answers. */
export interface Taking {
  readonly city: string;
  readonly at: ConversationRow;
  readonly entry: NewEntry;
  /** By which it goes. */
  readonly binding?: BindingRow;
  readonly deliveries: readonly MemberDelivery[];
  /** To be remembered as who was addressed last. */
  readonly addressed?: { readonly group: number; readonly handle: string };
  /** Who has brought it. */
  readonly adapterPk?: number;
  readonly events: readonly NewEvent[];
}

/** Where a message goes, by what was found under the lock of its conversation: what is written of it, or why nobody answers. */
export function routed(
  { city, message, onceKey, caller }: Intake,
  at: ConversationRow,
  found: Found,
  before: readonly NewEvent[] = [],
): { readonly taking?: Taking; readonly decision: Decision | undefined } {
  const { binding, group, participants, members } = found;
  const target = handleOf(message.explicit_target ?? '');
  const decision = binding === undefined ? decide(group, participants, target) : undefined;
  const to = binding ?? decision?.participant;
  if (to === undefined) return { decision };
  const entry: NewEntry = {
    id: newId('entry'),
    kind: 'inbound',
    providerMessageId: message.provider_message_id,
    onceKey,
    actor: message.actor,
    text: message.text.trim(),
    explicitTarget: message.explicit_target?.trim() ?? '',
    replyTo: message.reply_to_message_id ?? '',
    attachments: message.attachments ?? [],
    sourceSessionId: '',
    route: {
      ...(binding === undefined ? {} : { binding: binding.pk }),
      ...(decision === undefined ? {} : { group: { match: decision.match, update: decision.handle !== undefined } }),
      session: to.session_id,
      agent: to.agent_name,
    },
  };
  const sequence = at.head + 1;
  const { actor, attachments, providerMessageId: messageId, replyTo, text } = entry;
  const from = { name: actor.display_name, id: actor.id, kind: actor.is_bot ? ('agent' as const) : ('human' as const) };
  const deliveries = deliveriesOf({
    direction: 'inbound',
    told: { conversation: at, sequence, from, text, messageId, replyTo, attachments, target },
    members,
    participants,
    target: participants.find(({ handle }) => handle === target),
  });
  const told = event(ExtmsgInbound, {
    ...{ stream: city, actor: caller.actor },
    subject: to.session_id || to.agent_name,
    payload: {
      ...factsOf(at),
      actor: actor.display_name,
      target_session: to.session_id,
      ...(to.agent_name === '' ? {} : { target_agent: to.agent_name }),
      sequence,
      members: deliveries.length,
    },
  });
  return {
    decision,
    taking: {
      ...{ city, at, entry, deliveries, events: [...before, told] },
      ...(binding === undefined ? {} : { binding }),
      ...(decision?.handle === undefined ? {} : { addressed: { group: group!.pk, handle: decision.handle } }),
      ...(caller.adapter === undefined ? {} : { adapterPk: caller.adapter.pk }),
    },
  };
}

export function answer(
  at: ConversationRow,
  message: ExternalInboundMessage,
  entry: EntryRow,
  binding: BindingRow | undefined,
  more: Pick<InboundResult, 'Duplicate' | 'Members'>,
): InboundResult {
  const { group, session = '', agent = '' } = entry.route;
  return {
    Message: inUtc(message),
    Binding: binding === undefined ? null : toBinding(binding),
    GroupRoute: group === undefined ? null : { Match: group.match, TargetSessionID: session, UpdateCursor: group.update },
    TranscriptEntry: toEntry(entry, at),
    TargetSessionID: session,
    TargetAgentName: agent,
    ...more,
  };
}

/** As all times in answers are. */
const inUtc = (message: ExternalInboundMessage): ExternalInboundMessage => ({
  ...message,
  received_at: new Date(message.received_at).toISOString(),
});

export function unrouted(message: ExternalInboundMessage, decision: Decision | undefined): InboundResult {
  const route: GroupRouteDecision | null =
    decision === undefined ? null : { Match: decision.match, TargetSessionID: '', UpdateCursor: false };
  return { Message: inUtc(message), Binding: null, GroupRoute: route, TranscriptEntry: null, TargetSessionID: '', TargetAgentName: '' };
}
