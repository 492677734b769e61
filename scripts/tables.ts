/**
 * Whose each table is: the rooms that may write it (a family, a room of `src/platform`, or the functions of a table in
 * `db/functions`), and the domains and rooms that may read it beside them. A reader knows columns; it may join, and lock.
 * `npm run boundaries` compares this with the sources. Of `order_cities`, `service_cities` and `maintenance_cities` it sees half:
 * `Following` of `configuration/config` writes them under the names that their families give it. `deployment` has one row for good.
 */
export interface Owners {
  readonly writes: readonly string[];
  readonly reads: readonly string[];
}

export const TABLES: Readonly<Record<string, Owners>> = {
  agents: { writes: ['configuration/roster'], reads: ['functions', 'sessions'] },
  api_keys: { writes: ['administration/keys'], reads: ['administration'] },
  audit_records: { writes: ['functions/extmsg_conversations', 'platform/audit', 'platform/audit-log'], reads: ['administration'] },
  bead_counters: { writes: ['functions/bead_counters', 'functions/beads', 'work/work'], reads: [] },
  bead_dependencies: { writes: ['work/work'], reads: ['administration', 'functions', 'orchestration', 'work'] },
  beads: {
    writes: ['functions/beads', 'sessions/session-store', 'work/hooks', 'work/work'],
    reads: ['administration', 'functions', 'orchestration', 'runners', 'sessions', 'work'],
  },
  cities: {
    writes: ['administration/bring-up', 'configuration/config', 'tenancy/cities'],
    reads: ['administration', 'files', 'functions', 'integrations', 'orchestration', 'runners', 'sessions', 'tenancy', 'work'],
  },
  city_pools: { writes: ['runners/pools'], reads: [] },
  city_reservations: { writes: ['tenancy/cities'], reads: ['files'] },
  config_edits: { writes: ['configuration/config'], reads: [] },
  config_revisions: { writes: ['configuration/config'], reads: ['administration'] },
  config_states: { writes: ['configuration/config'], reads: ['functions'] },
  config_texts: { writes: ['configuration/config'], reads: [] },
  deployment: { writes: [], reads: ['functions', 'integrations', 'platform/streams'] },
  directories: { writes: ['files/directories'], reads: [] },
  event_cursors: { writes: ['platform/streams'], reads: [] },
  event_segments: { writes: ['platform/event-log'], reads: [] },
  event_streams: {
    writes: ['functions/events', 'platform/event-log'],
    reads: [
      'functions/beads',
      'administration',
      'configuration',
      'integrations',
      'orchestration',
      'platform/streams',
      'runners',
      'sessions',
      'tenancy',
      'work',
    ],
  },
  events: {
    writes: ['functions/events', 'platform/event-log'],
    reads: ['orchestration', 'platform/streams', 'tenancy'],
  },
  extmsg_adapters: { writes: ['functions/extmsg_conversations', 'integrations/extmsg'], reads: [] },
  extmsg_bindings: { writes: ['integrations/extmsg'], reads: ['functions'] },
  extmsg_connections: { writes: ['integrations/extmsg'], reads: [] },
  extmsg_contexts: { writes: ['integrations/extmsg'], reads: [] },
  extmsg_conversations: { writes: ['functions/extmsg_conversations', 'integrations/extmsg'], reads: [] },
  extmsg_deliveries: { writes: ['functions/extmsg_conversations', 'integrations/extmsg'], reads: [] },
  extmsg_entries: { writes: ['functions/extmsg_conversations', 'integrations/extmsg'], reads: [] },
  extmsg_groups: { writes: ['functions/extmsg_conversations', 'integrations/extmsg'], reads: [] },
  extmsg_memberships: { writes: ['integrations/extmsg'], reads: ['functions'] },
  extmsg_participants: { writes: ['integrations/extmsg'], reads: ['functions'] },
  idempotency_holds: { writes: ['platform/idempotency'], reads: [] },
  idempotency_keys: { writes: ['functions/beads', 'functions/events', 'platform/idempotency'], reads: [] },
  mail_cities: { writes: ['work/mail'], reads: [] },
  mail_settings: { writes: ['work/mail'], reads: [] },
  maintenance_cities: { writes: ['administration/maintenance'], reads: ['administration'] },
  maintenance_cycles: { writes: ['administration/maintenance'], reads: ['administration'] },
  messages: { writes: ['work/mail'], reads: ['administration', 'functions', 'sessions'] },
  operations: { writes: ['platform/operations'], reads: ['administration', 'tenancy'] },
  order_cities: { writes: ['orchestration/orders'], reads: [] },
  order_firings: { writes: ['orchestration/orders'], reads: ['administration', 'runners', 'sessions'] },
  orders: { writes: ['orchestration/orders'], reads: [] },
  processes: { writes: ['hosts/providers', 'platform/processes'], reads: ['administration', 'configuration'] },
  provider_readiness: { writes: ['hosts/providers'], reads: [] },
  rig_provisions: { writes: ['sessions/rigs'], reads: [] },
  rigs: { writes: ['configuration/roster'], reads: ['functions', 'work'] },
  run_checks: { writes: ['orchestration/runs'], reads: ['runners', 'sessions'] },
  run_controls: { writes: ['functions/run_controls', 'orchestration/runs'], reads: [] },
  run_counts: { writes: ['functions/runs'], reads: ['orchestration'] },
  run_steps: { writes: ['functions/runs', 'orchestration/runs'], reads: ['administration'] },
  run_units: { writes: ['orchestration/runs'], reads: [] },
  runners: { writes: ['runners/runners'], reads: ['administration', 'hosts', 'runners'] },
  runs: { writes: ['functions/runs', 'orchestration/runs'], reads: ['administration', 'sessions'] },
  service_cities: { writes: [], reads: [] },
  service_lines: { writes: ['integrations/services'], reads: [] },
  services: { writes: ['integrations/services'], reads: ['runners'] },
  session_commands: { writes: ['administration/maintenance', 'runners/runners', 'sessions/sessions'], reads: [] },
  session_entries: {
    writes: ['administration/maintenance', 'functions/session_logs', 'sessions/sessions', 'sessions/transcripts'],
    reads: ['runners', 'sessions'],
  },
  session_interactions: { writes: ['sessions/interactions'], reads: ['runners', 'sessions'] },
  session_logs: {
    writes: ['functions/session_logs', 'runners/runners', 'sessions/interactions', 'sessions/session-store', 'sessions/transcripts'],
    reads: ['administration', 'runners', 'sessions'],
  },
  session_messages: { writes: ['sessions/messages'], reads: ['integrations', 'runners', 'sessions'] },
  session_names: { writes: ['sessions/session-names', 'sessions/session-store'], reads: ['functions', 'orchestration'] },
  session_turns: { writes: ['sessions/usage'], reads: ['administration', 'runners'] },
  sessions: {
    writes: ['sessions/session-store', 'sessions/sessions'],
    reads: ['administration', 'functions', 'hosts', 'integrations', 'orchestration', 'runners', 'sessions', 'work'],
  },
  store_looks: { writes: ['administration/maintenance'], reads: [] },
  webhook_deliveries: { writes: ['orchestration/orders'], reads: ['administration'] },
};
