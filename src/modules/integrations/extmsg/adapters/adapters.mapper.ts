import type { AdapterRow } from './adapters.repository.js';
import type { ExtmsgAdapterInfo } from './adapters.schemas.js';

/** Calls in a row that fail before an adapter is told to be failing. */
const FAILING = 3;

export function toAdapterInfo(row: AdapterRow): ExtmsgAdapterInfo {
  return {
    provider: row.provider,
    account_id: row.account_id,
    name: row.name,
    ...(row.callback_url === '' ? {} : { callback_url: row.callback_url }),
    transport: row.transport,
    ...(row.transport === 'stream' ? { connections: row.connections } : {}),
    ...(row.capabilities === null ? {} : { capabilities: row.capabilities }),
    health: healthOf(row),
    ...(row.last_error === null ? {} : { last_error: row.last_error }),
    registered_at: row.registered_at.toISOString(),
    last_seen_at: row.last_seen_at.toISOString(),
    ...(row.lease_until === null ? {} : { lease_until: row.lease_until.toISOString() }),
  };
}

function healthOf({ transport, callback_url, connections, stale, failures }: AdapterRow): NonNullable<ExtmsgAdapterInfo['health']> {
  if (transport === 'callback' && callback_url === '') return 'no_callback';
  if (stale) return 'stale';
  if (transport === 'stream' && connections === 0) return 'disconnected';
  return failures >= FAILING ? 'failing' : 'ok';
}
