import { linesOf, placesOf } from '../../sessions/agents/agent-lines.js';
import { sizeOf } from '../../sessions/agents/agent-members.js';
import type { StatusBody } from './city-status.schemas.js';
import type { AgentConfig, CityConfig, NamedSessionConfig, RigConfig } from '../../files/composition/city-config.js';
import type { Blockers } from '../../sessions/launch/effective-suspension.service.js';
import type { Switches } from '../../configuration/roster/roster.service.js';
import type { StatusSession, StoreRow } from './city-status.repository.js';

type AgentDetail = NonNullable<StatusBody['agent_details']>[number];
type RigDetail = NonNullable<StatusBody['rig_details']>[number];
type NamedDetail = NonNullable<StatusBody['named_session_details']>[number];
type StoreHealth = NonNullable<StatusBody['store_health']>;

/** Lines of each kind that a status has; lists have all. */
export const DETAILS = 500;

const MB = 1024 * 1024;
/** Above it a row takes more room than one should: what is left of others is not cleaned, or transcripts hold very much. */
const MB_PER_ROW = 0.1;
/** A store that is small is no trouble whatever its rows take. */
const SMALL_BYTES = 256 * MB;

/** In the order of the configuration, members of pools in place. `more` says that there are lines beyond the limit. */
export function agentDetails(
  config: CityConfig,
  sessions: readonly StatusSession[],
  blockers: Blockers,
  limit = DETAILS,
): { lines: AgentDetail[]; more: boolean } {
  const byAgent = Map.groupBy(sessions, ({ agent }) => agent);
  const lines: AgentDetail[] = [];
  for (const agent of config.agents) {
    const own = byAgent.get(agent.qualified_name) ?? [];
    const byName = new Map(own.map((session) => [session.name, session]));
    for (const { name, pool } of linesOf(agent, own)) {
      if (lines.length === limit) return { lines, more: true };
      // An agent without a pool runs where anybody of it does.
      const session = byName.get(name) ?? (pool === undefined ? own.find(({ live }) => live) : undefined);
      lines.push(agentDetail(agent, { name, pool, session }, blockers));
    }
  }
  return { lines, more: false };
}

/** As their list counts them: each place of a pool is an agent. Those that may not run are suspended, whatever else they are. */
export function agentCounts(config: CityConfig, sessions: readonly StatusSession[], blockers: Blockers): StatusBody['agents'] {
  const byAgent = Map.groupBy(sessions, ({ agent }) => agent);
  const counts = { total: 0, running: 0, suspended: 0, quarantined: 0 };
  for (const agent of config.agents) {
    const own = byAgent.get(agent.qualified_name) ?? [];
    const { total, running } = placesOf(agent, own);
    const isBlocked = blockers(agent.qualified_name, agent.dir) !== undefined;
    const those = (state: string): number => (isBlocked ? 0 : own.filter((one) => one.state === state).length);
    counts.total += total;
    counts.running += running;
    counts.suspended += isBlocked ? total : Math.min(total, those('suspended'));
    counts.quarantined += Math.min(total, those('quarantined'));
  }
  return counts;
}

interface Line {
  readonly name: string;
  readonly pool: string | undefined;
  readonly session: StatusSession | undefined;
}

function agentDetail(agent: AgentConfig, { name, pool, session }: Line, blockers: Blockers): AgentDetail {
  const { dir } = agent;
  return {
    name: name.slice(name.lastIndexOf('/') + 1),
    qualified_name: name,
    scope: dir === '' ? 'city' : 'rig',
    running: session?.live ?? false,
    suspended: session?.state === 'suspended' || blockers(agent.qualified_name, dir) !== undefined,
    ...(session?.state === 'draining' ? { draining: true } : {}),
    ...(pool === undefined ? {} : { expanded: true, group_name: pool, scale_label: scaleOf(agent) }),
    ...(session === undefined ? {} : { session_name: session.session_name }),
  };
}

/** How many sessions a pool has at least and at most. */
function scaleOf(agent: AgentConfig): string {
  return `${Math.max(0, agent.min_active_sessions ?? 0)}-${sizeOf(agent) ?? 'unlimited'}`;
}

export function rigDetails(rigs: readonly RigConfig[], switches: Switches): RigDetail[] {
  return rigs.slice(0, DETAILS).map(({ name, path = '', suspended_on_start: declared }) => ({
    name,
    path,
    suspended: switches.rigs.get(name) ?? declared,
  }));
}

export function namedDetails(named: readonly NamedSessionConfig[], states: ReadonlyMap<string, string>): NamedDetail[] {
  return named.slice(0, DETAILS).map(({ qualified_name: identity, mode }) => ({
    identity,
    mode,
    status: states.get(identity) ?? 'reserved-unmaterialized',
  }));
}

/** undefined before anything was counted: zeros would look like an empty store. */
export function storeHealth(path: string, row: StoreRow): StoreHealth | undefined {
  const { size_bytes: size, live_rows: live, error, disk } = row;
  if (size === null || live === null) return undefined;
  const ratio = size / MB / Math.max(1, live);
  return {
    path,
    size_bytes: size,
    live_rows: live,
    ratio_mb_per_row: ratio,
    threshold_mb_per_row: MB_PER_ROW,
    warning: row.warnings > 0 || disk !== 'ok' || (size > SMALL_BYTES && ratio > MB_PER_ROW),
    last_gc_at: row.ended_at.toISOString(),
    last_gc_status: error === null ? 'done' : 'failed',
  };
}
