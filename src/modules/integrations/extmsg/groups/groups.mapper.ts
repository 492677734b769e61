import { toRef } from '../conversations/conversation.js';
import { SCHEMA_VERSION } from '../conversations/conversations.schemas.js';
import type { GroupRow, ParticipantRow } from './groups.repository.js';
import type { ConversationGroupParticipant, ConversationGroupRecord, FanoutPolicy } from './groups.schemas.js';

export function toGroup(row: GroupRow, participants?: readonly ParticipantRow[]): ConversationGroupRecord {
  return {
    ID: row.id,
    SchemaVersion: SCHEMA_VERSION,
    RootConversation: toRef(row),
    Mode: row.mode,
    DefaultHandle: row.default_handle,
    LastAddressedHandle: row.last_addressed_handle,
    FanoutPolicy: fanoutOf(row),
    Metadata: row.metadata,
    ...(participants === undefined ? {} : { Participants: participants.map((each) => toParticipant(each, row.id)) }),
  };
}

const fanoutOf = (row: GroupRow): FanoutPolicy => ({
  Enabled: row.fanout_enabled,
  AllowUntargetedPublication: row.fanout_untargeted,
  MaxPeerTriggeredPublishes: row.max_peer_publishes,
  MaxTotalPeerDeliveries: row.max_peer_deliveries,
});

export function toParticipant(row: ParticipantRow, groupId: string): ConversationGroupParticipant {
  return {
    ID: row.id,
    GroupID: groupId,
    Handle: row.handle,
    SessionID: row.agent_name || row.session_id,
    SessionName: row.session_name,
    Public: row.public,
    Metadata: row.metadata,
  };
}
