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
  kind: z.string().optional(),
};
const binding_generation = int64.optional();

export const BoundEventPayload = contract(
  'BoundEventPayload',
  z.strictObject({ ...conversation, session_id: z.string(), agent_name: z.string().optional(), binding_generation }),
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
);
export const GroupCreatedEventPayload = contract('GroupCreatedEventPayload', z.strictObject({ ...conversation, mode: z.string() }));
export const InboundEventPayload = contract(
  'InboundEventPayload',
  z.strictObject({
    ...conversation,
    actor: z.string(),
    target_session: z.string(),
    target_agent: z.string().optional(),
    sequence: int64.optional(),
    members: int64.optional().meta({ description: 'How many members are told.' }),
  }),
);
export const OutboundEventPayload = contract(
  'OutboundEventPayload',
  z.strictObject({ ...conversation, message_id: z.string(), session: z.string(), sequence: int64.optional(), binding_generation }),
);
export const OutboundChannelMismatchPayload = contract(
  'OutboundChannelMismatchPayload',
  z.strictObject({ ...conversation, owner_session: z.string(), posting_session: z.string() }),
);
export const AdapterEventPayload = contract('AdapterEventPayload', z.strictObject({ account_id: z.string(), provider: z.string() }));
export const ExtmsgDeliveryFailedPayload = contract(
  'ExtmsgDeliveryFailedPayload',
  z.strictObject({
    ...conversation,
    delivery_id: z.string(),
    direction: z.string().meta({ description: 'inbound or peer, to a member; outbound, to an adapter.' }),
    session: z.string().meta({ description: 'Who should have been told, or who has published.' }),
    error_code: z.string(),
  }),
);

export const ExtmsgBound = defineEvent('extmsg.bound', 1, BoundEventPayload);
export const ExtmsgUnbound = defineEvent('extmsg.unbound', 1, UnboundEventPayload);
export const ExtmsgGroupCreated = defineEvent('extmsg.group_created', 1, GroupCreatedEventPayload);
export const ExtmsgInbound = defineEvent('extmsg.inbound', 1, InboundEventPayload);
export const ExtmsgOutbound = defineEvent('extmsg.outbound', 1, OutboundEventPayload);
export const ExtmsgOutboundChannelMismatch = defineEvent('extmsg.outbound_channel_mismatch', 1, OutboundChannelMismatchPayload);
export const ExtmsgAdapterAdded = defineEvent('extmsg.adapter_added', 1, AdapterEventPayload);
export const ExtmsgAdapterRemoved = defineEvent('extmsg.adapter_removed', 1, AdapterEventPayload);
export const ExtmsgDeliveryFailed = defineEvent('extmsg.delivery_failed', 1, ExtmsgDeliveryFailedPayload);
