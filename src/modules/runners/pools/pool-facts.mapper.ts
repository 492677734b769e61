import { ProblemError } from '../../../contract/problems.js';
import { agentNamed, findMember, memberName, poolsOf } from '../../sessions/agents/agent-members.js';
import { agentMeant } from '../../sessions/agents/agent-names.js';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import type { AssignedRow, Claimants, OfferedRow } from '../../work/hooks/offered-work.service.js';
import type { Blockers } from '../../sessions/launch/effective-suspension.js';
import { driftOf, type Started } from '../../sessions/launch/drift.js';
import { agentOfNamed, templateOf } from '../../sessions/launch/template.js';
import type { OfferedBead, PoolAgent, PoolFacts, PoolNamed, PoolSession } from './pool-facts.js';
import type { PoolRow } from './pool-state.repository.js';
import type { EndedRuns } from '../../sessions/session-store/empty-runs.js';
import { DRAINED_ITSELF } from '../../sessions/session-store/session-stops.js';
import { agentSettings, poolSettings, providerIdleMs } from '../../sessions/session-store/settings.js';

export interface Loaded {
  readonly now: number;
  readonly config: CityConfig;
  readonly blockers: Blockers;
  readonly sessions: readonly PoolRow[];
  readonly offered: readonly OfferedRow[];
  readonly assigned: readonly AssignedRow[];
  readonly ended: EndedRuns;
  readonly scale: PoolFacts['scale'];
  /** What a process of the session would be started with now. */
  readonly fingerprint: (row: Started) => string | undefined;
  /** What a start of the session would be made from now. */
  readonly startHash: (row: Started) => string | undefined;
}

/** Everybody whose work asks for a session of the city: agents, members of their pools, named sessions, and the sessions that there are. */
export function claimantsOf(config: CityConfig, sessions: readonly PoolRow[]): Claimants {
  const pools = config.agents.map(({ qualified_name }) => qualified_name);
  const members = config.agents.flatMap((agent) => (agent.namepool ?? []).map((_, n) => memberName(agent, n + 1)));
  const named = config.named_sessions.map(({ qualified_name }) => qualified_name);
  const own = sessions.flatMap(({ id, session_name, alias, agent_name }) => [id, session_name, alias, agent_name ?? '']);
  return { pools, names: [...new Set([...pools, ...members, ...named, ...own])].filter((name) => name !== '') };
}

/** The facts of a running city. */
export function factsOf(loaded: Loaded): PoolFacts {
  const { now, config, blockers, assigned } = loaded;
  const held = new Map<string, string[]>();
  for (const { session, id, begun } of assigned) if (begun && session !== null) push(held, session, id);
  return {
    now,
    city: 'running',
    settings: poolSettings(config),
    agents: agentsOf(config, blockers),
    poolsOf: (name) => poolsOf(config, name).map(({ qualified_name }) => qualified_name),
    named: namedOf(config),
    providerIdleMs: providerIdleMs(config),
    blocked: (rig) => blockers(undefined, rig),
    sessions: loaded.sessions.map((row) => sessionOf(row, held.get(row.id) ?? [], loaded)),
    offered: offeredOf(loaded.offered),
    assigned: assignedOf(assigned),
    scale: loaded.scale,
    ...loaded.ended,
  };
}

/** The facts of a city that stops or is gone: nothing of its configuration matters. */
export function factsWithoutConfig(now: number, city: 'stopped' | 'gone', sessions: readonly PoolRow[]): PoolFacts {
  return {
    now,
    city,
    settings: poolSettings({ workspace: {}, rigs: [] } as unknown as CityConfig),
    agents: [],
    poolsOf: () => [],
    named: [],
    providerIdleMs: undefined,
    blocked: () => undefined,
    sessions: sessions.map((row) => sessionOf(row, [], { fingerprint: () => undefined, startHash: () => undefined })),
    offered: new Map(),
    assigned: new Map(),
    scale: new Map(),
    emptyRuns: new Map(),
    idleRuns: new Map(),
  };
}

function agentsOf(config: CityConfig, blockers: Blockers): PoolAgent[] {
  const names = new Set(config.agents.map(({ qualified_name }) => qualified_name));
  return config.agents.map((agent) => ({
    name: agent.qualified_name,
    rig: agent.dir,
    settings: agentSettings(config, agent),
    needs: needsOf(agent, names),
    member: (slot) => memberName(agent, slot),
    slotOf: (name) => slotIn(config, agent.qualified_name, name, (slot) => memberName(agent, slot)),
    blocked: blockers(agent.qualified_name, agent.dir),
    startable: () => isStartable(config, agent.qualified_name),
  }));
}

/** The configuration has none that there is not; one that was composed with others before may. */
function needsOf({ depends_on, dir, binding }: AgentConfig, names: ReadonlySet<string>): string[] {
  return Array.isArray(depends_on) ? depends_on.flatMap((name: unknown) => agentMeant(names, name, dir, binding) ?? []) : [];
}

/** Its provider is there and speaks as it is asked to. */
function isStartable(config: CityConfig, agent: string): boolean {
  try {
    templateOf(config, 'agent', agent);
    return true;
  } catch (error) {
    if (error instanceof ProblemError) return false;
    throw error;
  }
}

/** The slot that a member's name stands for; also of a pool without a bound. */
function slotIn(config: CityConfig, agent: string, name: string, member: (slot: number) => string): number | undefined {
  const numbered = name.startsWith(`${agent}-`) ? /^[1-9]\d{0,8}$/.exec(name.slice(agent.length + 1)) : null;
  if (numbered !== null && agentNamed(config, name) === undefined) {
    const slot = Number(numbered[0]);
    return member(slot) === name ? slot : undefined;
  }
  const slash = name.indexOf('/');
  const found = slash === -1 ? findMember(config, '', name) : findMember(config, name.slice(0, slash), name.slice(slash + 1));
  if (found?.pool !== agent || found.name !== name) return undefined;
  for (let slot = 1; slot <= (found.agent.namepool?.length ?? 0); slot++) if (member(slot) === name) return slot;
  return undefined;
}

function namedOf(config: CityConfig): PoolNamed[] {
  return config.named_sessions.map((named) => {
    const agent = agentOfNamed(config, named);
    return {
      identity: named.qualified_name,
      mode: named.mode,
      agent: agent?.qualified_name,
      settings: agent === undefined ? undefined : agentSettings(config, agent, named.mode),
    };
  });
}

function offeredOf(rows: readonly OfferedRow[]): Map<string, OfferedBead[]> {
  const offered = new Map<string, OfferedBead[]>();
  for (const { route, id, at } of rows) push(offered, route, { id, at: at.getTime() });
  return offered;
}

/**
 * Work that is assigned and that nobody has begun in a session of ours. Begun work with a lease is kept by somebody: when
 * that one is dead, the lease ends and the work is offered again.
 */
function assignedOf(rows: readonly AssignedRow[]): Map<string, OfferedBead[]> {
  const assigned = new Map<string, OfferedBead[]>();
  for (const { assignee, id, at, begun, leased, session } of rows)
    if (!begun || (session === null && !leased)) push(assigned, assignee, { id, at: at.getTime() });
  return assigned;
}

function sessionOf(row: PoolRow, held: readonly string[], now: Pick<Loaded, 'fingerprint' | 'startHash'>): PoolSession {
  const told = row.metadata;
  const starts = row.tried_hash === null || row.has_runner ? undefined : now.startHash(row);
  return {
    pk: row.pk,
    id: row.id,
    origin: row.origin,
    agent: row.kind === 'agent' ? (row.agent ?? row.template) : null,
    agentName: row.agent_name,
    slot: row.slot,
    rig: row.rig,
    identity: row.named_identity,
    sessionName: row.session_name,
    alias: row.alias,
    state: row.state,
    stateAt: row.state_at.getTime(),
    reason: row.reason,
    generation: row.generation,
    hasRunner: row.has_runner,
    runnerGone: row.runner_gone,
    live: row.live,
    inTurn: row.in_turn,
    activityAt: row.activity_at.getTime(),
    outputAt: row.last_output_at?.getTime(),
    readyAt: row.ready_at?.getTime(),
    wokeAt: row.last_woke_at?.getTime(),
    wake: row.wake_request,
    stop: row.stop_request,
    stopReason: row.stop_reason,
    stopAt: row.stop_requested_at?.getTime(),
    startDeadline: row.start_deadline?.getTime(),
    notBefore: row.not_before?.getTime(),
    heldUntil: row.held_until?.getTime(),
    quarantinedUntil: row.quarantined_until?.getTime(),
    mended: starts !== undefined && starts !== row.tried_hash,
    churns: row.churns,
    asks: row.asks,
    messages: row.messages,
    held,
    everHeld: row.ever_held || held.length > 0,
    waits: row.waits,
    pinned: told.pin_awake === 'true',
    drainedItself: told[DRAINED_ITSELF] !== undefined,
    drifted: driftOf(row, now.fingerprint)?.accepted === false,
    acceptedHash: row.accepted_hash,
    nudges: row.nudges,
    nudged: row.nudged,
    toldStranded: told.stranded_at !== undefined,
    toldResetStalled: row.stop_requested_at !== null && told.reset_stalled_at === row.stop_requested_at.toISOString(),
  };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
