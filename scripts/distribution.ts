/**
 * How the schema would be divided among several PostgreSQL servers (Citus): by the stream of a city, so that what a city does stays on one of
 * them. What is as it has to be needs no word; here is the rest, with the reason. `distribution.db-spec.ts` reads the catalogue and fails where
 * it and this differ, `npm run sql:check` does the same for statements. docs/explanation/scale.md has what follows from it.
 */
export const COLUMN = 'stream_id';

/** The log's own table of streams: its `id` is what others call `stream_id`. */
export const OWN: Readonly<Record<string, string>> = { event_streams: 'id' };

/** Tables that every server has, or one of them for all: no city writes them as it works. */
export const COMMON: Readonly<Record<string, string>> = {
  api_keys: 'read with each request, whatever its city; written by operators',
  audit_records: 'one record a request, whoever asks: belongs to the door, and goes into a store of its own first',
  cities: 'a row a city, found by name and by directory, which no two may share; written when a city starts and stops',
  city_reservations: 'a name and a directory are taken in all cities at once',
  deployment: 'one row',
  directories: 'a directory belongs to one city of all',
  event_drafts: 'a row for as long as one transaction lasts, which nobody else reads: each server has its own',
  event_cursors: 'positions in all cities: belong to replicas',
  operations: 'taken by any worker, whatever the city; the row of one that has ended is read by its id',
  idempotency_holds: 'keyed by who asks and not by the city',
  idempotency_keys: 'keyed by who asks and not by the city',
  processes: 'a row a process',
  provider_readiness: 'a row a process and a program',
  runners: 'a row a worker',
  store_looks: 'one row',
};

/** Tables of a city that do not have its stream yet: their rows hang from one that has, and would get it. */
export const HANGING: Readonly<Record<string, string>> = {
  extmsg_connections: 'extmsg_adapters',
  extmsg_contexts: 'extmsg_conversations',
  extmsg_entries: 'extmsg_conversations',
  service_lines: 'services',
  session_commands: 'sessions',
  session_entries: 'sessions',
  session_logs: 'sessions',
};

const NUMBERED = 'a number that one sequence gives: (stream_id, pk) holds as well';
const RANDOM = 'random, 96 bits or more: nobody has to compare it with those of other cities';
const PARENT = 'of one conversation, session or group, which is of one city: the stream goes in front';

/** Keys, unique indexes and foreign keys of the tables of cities that do not contain the stream. */
export const KEYS: Readonly<Record<string, string>> = {
  event_streams_name_key: 'names are unique in all: a directory of names, which every server has, takes it over',
  rig_provisions_operation_id_key: RANDOM,
  session_names_session_pk_fkey: PARENT,
  ...Object.fromEntries(
    'extmsg_adapters extmsg_bindings extmsg_conversations extmsg_deliveries extmsg_groups extmsg_memberships extmsg_participants maintenance_cycles order_firings run_checks services session_interactions session_messages sessions webhook_deliveries'
      .split(' ')
      .map((table) => [`${table}_pkey`, NUMBERED]),
  ),
  ...Object.fromEntries(
    'extmsg_bindings extmsg_deliveries extmsg_groups extmsg_participants order_firings session_messages'
      .split(' ')
      .map((table) => [`${table}_id_key`, RANDOM]),
  ),
  ...Object.fromEntries(
    [
      'extmsg_bindings_active_key',
      'extmsg_bindings_conversation_pk_fkey',
      'extmsg_deliveries_member_key',
      'extmsg_deliveries_once_key',
      'extmsg_deliveries_told_key',
      'extmsg_groups_conversation_pk_fkey',
      'extmsg_groups_conversation_pk_key',
      'extmsg_memberships_conversation_pk_fkey',
      'extmsg_memberships_open_key',
      'extmsg_participants_group_pk_fkey',
      'extmsg_participants_open_key',
      'session_interactions_request_key',
      'session_interactions_session_pk_fkey',
      'session_messages_session_pk_fkey',
      'session_turns_pkey',
      'session_turns_session_pk_fkey',
    ].map((name) => [name, PARENT]),
  ),
};

const MANY = 'takes items of many cities, to commit them together: callers would gather by server, as they now do by process';

/** Functions that read or write tables of cities, and are not told of which one. */
export const FUNCTIONS: Readonly<Record<string, string>> = {
  append_events: MANY,
  append_locked: MANY,
  append_session_logs: MANY,
  create_beads: MANY,
  emit_events: MANY,
  begin_log_epoch: 'once after a restore or a promotion, of all streams: each server for its own',
  extmsg_look: MANY,
  extmsg_take: MANY,
};

const FEED = 'the feed of all cities: each server has its part, which a replica reads from each';
const ANSWER = 'an answer about all cities that somebody may see: each server is asked for its own';
const WORKER = 'what one worker has, of whatever cities: by its id, on every server';
const DUE = 'what is due in any city: each server is asked for its own';
const KEPT = 'what is kept no longer, of any city: each server is asked for its own';
const GATHERED = 'reads of many callers, each of one city: they would be gathered by server, as they now are by process';

/** Statements that may concern cities of several servers, by their files: none that a request for one city waits for, unless it is gathered with others. */
export const CROSSING: Readonly<Record<string, string>> = {
  'src/platform/audit-log/audit.repository.ts': 'which names are cities: each server is asked for its own',
  'src/platform/event-log/event-log.ts': FEED,
  'src/platform/event-log/partitions.ts': 'Each server has its own partitions of the log, which its own worker makes and drops.',
  'src/platform/event-log/segments.ts': DUE,
  'src/platform/streams/stream-log.repository.ts': FEED,
  'src/modules/tenancy/events/event-histogram.repository.ts': FEED,
  'src/modules/tenancy/events/feed-events.repository.ts': FEED,
  'src/modules/tenancy/events/supervisor-events.repository.ts': FEED,
  'src/modules/administration/inbox/inbox.repository.ts': ANSWER,
  'src/modules/administration/overview/overview.repository.ts': ANSWER,
  'src/modules/administration/search/search.repository.ts': ANSWER,
  'src/modules/sessions/interactions/interactions.repository.ts': ANSWER,
  'src/modules/sessions/usage/cities-usage.repository.ts': ANSWER,
  'src/modules/administration/maintenance/cycles.repository.ts': DUE,
  'src/modules/administration/maintenance/disk-watch.repository.ts': DUE,
  'src/modules/configuration/config/following.repository.ts': DUE,
  'src/modules/orchestration/orders/firings.repository.ts': DUE,
  'src/modules/orchestration/orders/order-sync.repository.ts': DUE,
  'src/modules/orchestration/runs/checks/checks.repository.ts': DUE,
  'src/modules/orchestration/runs/control/continuations.repository.ts': DUE,
  'src/modules/orchestration/runs/gates/gates.repository.ts': DUE,
  'src/modules/orchestration/runs/limits/limits.repository.ts': DUE,
  'src/modules/runners/pools/pool-state.repository.ts': DUE,
  'src/modules/sessions/session-store/claims-of-sessions.repository.ts': DUE,
  'src/modules/sessions/sessions/session-deletions.repository.ts': DUE,
  'src/modules/work/hooks/lease.repository.ts': DUE,
  'src/modules/work/waits/wait-expiry.repository.ts': DUE,
  'src/modules/work/work/fan-outs.repository.ts': DUE,
  'src/modules/integrations/extmsg/deliveries/deliveries.repository.ts': DUE,
  'src/modules/integrations/extmsg/outbound/publications.repository.ts': DUE,
  'src/modules/administration/maintenance/store.repository.ts': KEPT,
  'src/modules/integrations/extmsg/outbound/for-clients.repository.ts': KEPT,
  'src/modules/integrations/extmsg/repair/retention.repository.ts': KEPT,
  'src/modules/orchestration/orders/order-history.repository.ts': KEPT,
  'src/modules/orchestration/orders/webhooks/deliveries.repository.ts': KEPT,
  'src/modules/orchestration/sling/sling-batches.repository.ts': KEPT,
  'src/modules/sessions/rigs/rig-provisions.repository.ts': KEPT,
  'src/modules/work/mail/mail-retention.repository.ts': KEPT,
  'src/modules/sessions/sessions/session-by-id.repository.ts': GATHERED,
  'src/modules/work/beads/beads.repository.ts': GATHERED,
  'src/modules/configuration/config/config-keeper.repository.ts': WORKER,
  'src/modules/hosts/runner-list/runner-list.repository.ts': WORKER,
  'src/modules/integrations/services/service-leases.repository.ts': WORKER,
  'src/modules/runners/runners/claims.repository.ts': WORKER,
  'src/modules/runners/runners/inbox.repository.ts': WORKER,
  'src/modules/runners/runners/runner.repository.ts': WORKER,
  'src/modules/runners/runners/session-work.repository.ts': WORKER,
  'src/modules/integrations/extmsg/connected/connections.repository.ts': 'a connection of an adapter by its own id, which is random',
  'src/modules/sessions/messages/message-queue.repository.ts': 'a message by its own id, which is random; and what is due in any city',
};

export type Kind = 'common' | 'hanging' | 'city';

export function kindOf(table: string, columns: ReadonlySet<string>): Kind | undefined {
  if (table in COMMON) return 'common';
  if (table in HANGING) return 'hanging';
  return table in OWN || columns.has(COLUMN) ? 'city' : undefined;
}
