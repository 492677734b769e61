import type { Bead } from '../../../contract/beads.schemas.js';
import type { WaitView } from './waits.schemas.js';

/** Members of a view that are metadata of the same name; empty ones are left out. */
const COPIED = [
  'session_name',
  'dep_mode',
  'registered_epoch',
  'delivery_attempt',
  'nudge_id',
  'expires_at',
  'ready_at',
  'closed_at',
  'failed_at',
  'expired_at',
  'canceled_at',
  'last_error',
  'close_reason',
  'retried_from_wait',
] as const;

export function toWaitView({ id, status, created_at, description, labels, metadata = {} }: Bead): WaitView {
  const copied = COPIED.flatMap((name) => (metadata[name] === undefined ? [] : [[name, metadata[name]] as const]));
  return {
    id,
    session_id: metadata.session_id ?? '',
    kind: metadata.kind ?? '',
    state: metadata.state ?? '',
    status,
    created_at,
    labels: labels ?? [],
    dep_ids: depIds(metadata),
    ...(description === undefined ? {} : { note: description }),
    ...(Object.fromEntries(copied) as Partial<WaitView>),
  };
}

export function depIds({ dep_ids }: Readonly<Record<string, string>>): string[] {
  return dep_ids === undefined || dep_ids === '' ? [] : dep_ids.split(',');
}
