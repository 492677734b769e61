import type { AuditRow } from './audit-reads.repository.js';
import type { AuditOutcome, AuditRecordResponse } from './audit.schemas.js';

export function toResponse(row: AuditRow): AuditRecordResponse {
  return {
    time: row.at,
    count: row.count,
    last_time: row.last_at,
    request_id: row.request_id,
    actor: row.actor,
    key_id: row.key_id,
    session_id: row.session_id,
    session_city: row.session_city,
    address: row.address,
    operation: row.operation,
    method: row.method,
    path: row.path,
    city: row.city,
    ids: row.ids,
    outcome: outcomeOf(row.status),
    status: row.status,
    code: row.code,
    reason: row.reason,
    operation_request_id: row.operation_request_id,
  };
}

const outcomeOf = (status: number): AuditOutcome => (status < 400 ? 'accepted' : status < 500 ? 'refused' : 'failed');
