import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const BoundEventPayload = contract(
  'BoundEventPayload',
  z.strictObject({ conversation_id: z.string(), provider: z.string(), session_id: z.string(), agent_name: z.string().optional() }),
);
export const UnboundEventPayload = contract('UnboundEventPayload', z.strictObject({ count: int64, session_id: z.string() }));
export const GroupCreatedEventPayload = contract(
  'GroupCreatedEventPayload',
  z.strictObject({ conversation_id: z.string(), mode: z.string(), provider: z.string() }),
);
export const InboundEventPayload = contract(
  'InboundEventPayload',
  z.strictObject({
    actor: z.string(),
    conversation_id: z.string(),
    provider: z.string(),
    target_session: z.string(),
    target_agent: z.string().optional(),
  }),
);
export const OutboundEventPayload = contract(
  'OutboundEventPayload',
  z.strictObject({ conversation_id: z.string(), message_id: z.string(), provider: z.string(), session: z.string() }),
);
export const OutboundChannelMismatchPayload = contract(
  'OutboundChannelMismatchPayload',
  z.strictObject({ conversation_id: z.string(), owner_session: z.string(), posting_session: z.string(), provider: z.string() }),
);
export const AdapterEventPayload = contract('AdapterEventPayload', z.strictObject({ account_id: z.string(), provider: z.string() }));

export const ExtmsgBound = defineEvent('extmsg.bound', 1, BoundEventPayload);
export const ExtmsgUnbound = defineEvent('extmsg.unbound', 1, UnboundEventPayload);
export const ExtmsgGroupCreated = defineEvent('extmsg.group_created', 1, GroupCreatedEventPayload);
export const ExtmsgInbound = defineEvent('extmsg.inbound', 1, InboundEventPayload);
export const ExtmsgOutbound = defineEvent('extmsg.outbound', 1, OutboundEventPayload);
export const ExtmsgOutboundChannelMismatch = defineEvent('extmsg.outbound_channel_mismatch', 1, OutboundChannelMismatchPayload);
export const ExtmsgAdapterAdded = defineEvent('extmsg.adapter_added', 1, AdapterEventPayload);
export const ExtmsgAdapterRemoved = defineEvent('extmsg.adapter_removed', 1, AdapterEventPayload);
