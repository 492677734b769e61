import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

/** What tells conversations apart that have the same id: of two accounts, or a room and its thread. */
const conversation = {
  conversation_id: z.string(),
  provider: z.string(),
  account_id: z.string().optional(),
  parent_conversation_id: z.string().optional(),
  kind: z.string().optional().describe('`dm`, `room` or `thread`.'),
};
const binding_generation = int64.optional();

export const BoundEventPayload = contract(
  'BoundEventPayload',
  z.strictObject({ ...conversation, session_id: z.string(), agent_name: z.string().optional(), binding_generation }),
  'A conversation is bound.',
);
export const UnboundEventPayload = contract(
  'UnboundEventPayload',
  z.strictObject({
    count: int64,
    session_id: z.string(),
    agent_name: z.string().optional(),
    reason: z.string().optional().meta({ description: 'unbound, replaced, expired or session_closed.' }),
    bindings: z
      .array(z.strictObject({ ...conversation, session_id: z.string(), agent_name: z.string().optional(), binding_generation }))
      .optional()
      .meta({ description: 'The first hundred that have ended.' }),
  }),
  'Bindings have ended.',
);
export const GroupCreatedEventPayload = contract(
  'GroupCreatedEventPayload',
  z.strictObject({ ...conversation, mode: z.string() }),
  'A conversation has a group.',
);
export const InboundEventPayload = contract(
  'InboundEventPayload',
  z.strictObject({
    ...conversation,
    actor: z.string().describe('Who has written it: the id at the provider.'),
    target_session: z.string().describe('The session that is told.'),
    target_agent: z.string().optional().describe('The configured name that it is for.'),
    sequence: int64.optional(),
    members: int64.optional().meta({ description: 'How many members are told.' }),
  }),
  'A message has come from outside.',
);
export const OutboundEventPayload = contract(
  'OutboundEventPayload',
  z.strictObject({
    ...conversation,
    message_id: z.string(),
    session: z.string().describe('The session that has published it.'),
    sequence: int64.optional(),
    binding_generation,
  }),
  'A message of a session was published.',
);
export const OutboundChannelMismatchPayload = contract(
  'OutboundChannelMismatchPayload',
  z.strictObject({
    ...conversation,
    owner_session: z.string().describe('The session that has the conversation.'),
    posting_session: z.string().describe('The session that wanted to publish there.'),
  }),
  'A session wanted to publish in a conversation that another has.',
);
export const AdapterEventPayload = contract(
  'AdapterEventPayload',
  z.strictObject({ account_id: z.string(), provider: z.string() }),
  'The account that an adapter speaks for.',
);
export const ExtmsgDeliveryFailedPayload = contract(
  'ExtmsgDeliveryFailedPayload',
  z.strictObject({
    ...conversation,
    delivery_id: z.string().describe('The id of the delivery.'),
    direction: z.string().meta({ description: 'inbound or peer, to a member; outbound, to an adapter.' }),
    session: z.string().meta({ description: 'Who should have been told, or who has published.' }),
    error_code: z.string(),
  }),
  'A message could not be delivered.',
);

export const ExtmsgBound = defineEvent(
  'extmsg.bound',
  1,
  BoundEventPayload,
  'A session or an agent answers in a conversation from now on.',
);
export const ExtmsgUnbound = defineEvent('extmsg.unbound', 1, UnboundEventPayload, 'Bindings have ended.');
export const ExtmsgGroupCreated = defineEvent(
  'extmsg.group_created',
  1,
  GroupCreatedEventPayload,
  'A conversation has a group of members.',
);
export const ExtmsgInbound = defineEvent('extmsg.inbound', 1, InboundEventPayload, 'A message came from outside.');
export const ExtmsgOutbound = defineEvent('extmsg.outbound', 1, OutboundEventPayload, 'A message was published outside.');
export const ExtmsgOutboundChannelMismatch = defineEvent(
  'extmsg.outbound_channel_mismatch',
  1,
  OutboundChannelMismatchPayload,
  'A session wanted to publish in a conversation that another one has.',
);
export const ExtmsgAdapterAdded = defineEvent(
  'extmsg.adapter_added',
  1,
  AdapterEventPayload,
  'An adapter may bring and take messages of a provider.',
);
export const ExtmsgAdapterRemoved = defineEvent('extmsg.adapter_removed', 1, AdapterEventPayload, 'An adapter may no longer.');
export const ExtmsgDeliveryFailed = defineEvent(
  'extmsg.delivery_failed',
  1,
  ExtmsgDeliveryFailedPayload,
  'A message reached nobody, for good: `svc extmsg retry` tries again.',
);
