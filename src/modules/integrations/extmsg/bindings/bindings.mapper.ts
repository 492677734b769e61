import { toRef } from '../conversations/conversation.js';
import { SCHEMA_VERSION } from '../conversations/conversations.schemas.js';
import type { BindingRow } from './bindings.repository.js';
import type { SessionBindingRecord } from './bindings.schemas.js';

export function toBinding(row: BindingRow): SessionBindingRecord {
  return {
    ID: row.id,
    SchemaVersion: SCHEMA_VERSION,
    Conversation: toRef(row),
    SessionID: row.session_id,
    SessionName: row.session_name,
    AgentName: row.agent_name,
    Status: row.status,
    BoundAt: row.bound_at.toISOString(),
    ExpiresAt: row.expires_at?.toISOString() ?? null,
    BindingGeneration: row.generation,
    Metadata: row.metadata,
  };
}
