import { z } from 'zod';
import { queryText } from '../../../../contract/query.js';
import { contract, demanded } from '../../../../contract/registry.js';
import { int64, text } from '../../../../contract/scalars.js';
import { BOUNDS, ConversationRef, metadata, schemaVersion } from '../conversations/conversations.schemas.js';

export const FanoutPolicy = contract(
  'FanoutPolicy',
  z.strictObject({
    Enabled: z.boolean().meta({ description: 'Whether the others are told what one of them publishes.' }),
    AllowUntargetedPublication: z.boolean().meta({ description: 'Also of what names nobody in `explicit_target`.' }),
    MaxPeerTriggeredPublishes: int64.meta({
      description: 'How often members who were told by others may publish until somebody outside writes again; more is refused.',
    }),
    MaxTotalPeerDeliveries: int64.meta({ description: 'How many are told by others until somebody outside writes again.' }),
  }),
  'How members of a group hear of each other.',
);
export type FanoutPolicy = z.infer<typeof FanoutPolicy>;

/** For groups that say nothing: a room talks, and stops when nobody outside says anything. */
export const USUAL_FANOUT: FanoutPolicy = {
  Enabled: true,
  AllowUntargetedPublication: true,
  MaxPeerTriggeredPublishes: 20,
  MaxTotalPeerDeliveries: 200,
};
const MOST = 100_000;

export const FanoutPolicyInput = contract(
  'FanoutPolicyInput',
  z.strictObject({
    Enabled: z.boolean().default(USUAL_FANOUT.Enabled).describe('Whether the others are told what one of them publishes.'),
    AllowUntargetedPublication: z
      .boolean()
      .default(USUAL_FANOUT.AllowUntargetedPublication)
      .describe('Also of what names nobody in `explicit_target`.'),
    MaxPeerTriggeredPublishes: z
      .int()
      .min(1)
      .max(MOST)
      .default(USUAL_FANOUT.MaxPeerTriggeredPublishes)
      .describe('How often members who were told by others may publish until somebody outside writes again.'),
    MaxTotalPeerDeliveries: z
      .int()
      .min(1)
      .max(MOST)
      .default(USUAL_FANOUT.MaxTotalPeerDeliveries)
      .describe('How many are told by others until somebody outside writes again.'),
  }),
  'How members of a group hear of each other. Absent members are the usual ones.',
);

export const ConversationGroupRecord = contract(
  'ConversationGroupRecord',
  z.strictObject({
    ID: z.string(),
    SchemaVersion: schemaVersion,
    RootConversation: ConversationRef,
    Mode: z.string().describe('Always `launcher`.'),
    DefaultHandle: z.string().describe('Who is meant when nobody is named. Empty: nobody.'),
    LastAddressedHandle: z.string().describe('Who was named last. Empty: nobody was.'),
    FanoutPolicy,
    Metadata: z.record(z.string(), z.string()),
    Participants: z
      .array(z.lazy(() => ConversationGroupParticipant))
      .optional()
      .meta({ description: 'Those that have a handle, by handle. Not in the answer to a change.' }),
  }),
  'A conversation that several answer in, each under a handle.',
);
export type ConversationGroupRecord = z.infer<typeof ConversationGroupRecord>;

export const ConversationGroupParticipant = contract(
  'ConversationGroupParticipant',
  z.strictObject({
    ID: z.string(),
    GroupID: z.string().describe('The group.'),
    Handle: z.string().describe('The name by which the member is addressed.'),
    SessionID: z.string().meta({ description: "A session's id, or the configured name that stands for whichever session has it." }),
    SessionName: z.string(),
    Public: z.boolean().describe('Whether the other members are told its handle.'),
    Metadata: z.record(z.string(), z.string()),
  }),
  'A member of a group.',
);
export type ConversationGroupParticipant = z.infer<typeof ConversationGroupParticipant>;

export const GroupQuery = z.strictObject({
  scope_id: queryText({ max: BOUNDS.scope }),
  provider: queryText({ max: BOUNDS.provider }),
  account_id: queryText({ max: BOUNDS.account }),
  conversation_id: queryText({ max: BOUNDS.conversation }),
  parent_conversation_id: queryText({ max: BOUNDS.conversation }),
  kind: queryText({ max: 16 }),
});
export type GroupQuery = z.infer<typeof GroupQuery>;

const handle = text.max(BOUNDS.handle);

export const ExtMsgGroupEnsureInputBody = contract(
  'ExtMsgGroupEnsureInputBody',
  z.strictObject({
    root_conversation: demanded(ConversationRef.optional()),
    mode: text.max(32).optional().meta({ description: 'launcher, the only one.' }),
    default_handle: handle.optional().meta({ description: 'Who is meant when nobody is named. Left out, nobody is.' }),
    fanout_policy: FanoutPolicyInput.optional().meta({ description: 'Left out, it is the usual one.' }),
    metadata: metadata.optional(),
  }),
  'The group that a conversation is to have.',
);
export type ExtMsgGroupEnsureInput = z.infer<typeof ExtMsgGroupEnsureInputBody>;

const group_id = text.min(1).max(64);
export const ExtMsgParticipantUpsertInputBody = contract(
  'ExtMsgParticipantUpsertInputBody',
  z.strictObject({
    group_id,
    handle: handle.min(1),
    session_id: text.min(1).max(BOUNDS.session).meta({ description: 'The id, name or alias of a session, or a configured name.' }),
    public: z.boolean().optional().meta({ description: 'Whether the other members are told its handle.' }),
    metadata: metadata.optional(),
  }),
  'A handle in a group, and whose it is.',
);
export type ExtMsgParticipantUpsertInput = z.infer<typeof ExtMsgParticipantUpsertInputBody>;

export const ExtMsgParticipantRemoveInputBody = contract(
  'ExtMsgParticipantRemoveInputBody',
  z.strictObject({ group_id, handle: handle.min(1) }),
  'The handle that is taken back.',
);
export type ExtMsgParticipantRemoveInput = z.infer<typeof ExtMsgParticipantRemoveInputBody>;
