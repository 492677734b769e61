import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import type { Member } from './agent-members.js';
import { restOf, startOf } from '../session-store/session-rest.js';
import type { AgentSession } from './agents.repository.js';
import { presetBehind, providerOf, specOf, startsItself } from './agent-provider.js';
import type { AgentRest, AgentResponse } from './agents.schemas.js';

/** What is true of agents at this moment and in no file. */
export interface Present {
  readonly citySuspended: boolean;
  readonly suspendedRigs: ReadonlySet<string>;
  /** The switches of agents that are set, by qualified name. */
  readonly switches: ReadonlyMap<string, boolean>;
  /** What each agent or member works on, by its name. */
  readonly activeBeads: ReadonlyMap<string, string>;
  /** Presets that no live worker host can use, with what is known of them. */
  readonly unready: ReadonlyMap<string, string>;
  /** Their sessions, by the name that each works under. */
  readonly sessions: ReadonlyMap<string, AgentSession>;
  /** One of each agent's sessions that have a process, by agent: an agent runs where anybody of it does. */
  readonly byAgent: ReadonlyMap<string, AgentSession>;
  /** Pools that start nobody for a while, by their agents, and members that are not started for work of their own. */
  readonly poolRests: ReadonlyMap<string, AgentRest>;
}

/** One that holds work counts as working for so long after its last turn. */
const WORKING_MS = 600_000;

export function toAgent(config: CityConfig, { name, agent, pool }: Member, present: Present): AgentResponse {
  const declared = agent.suspended ?? false;
  const runtime = present.switches.get(agent.qualified_name);
  const suspended = runtime ?? declared;
  const provider = providerOf(config, agent);
  const session = present.sessions.get(name) ?? (pool === undefined ? present.byAgent.get(name) : undefined);
  const running = session?.live ?? false;
  const active = session?.active_bead ?? present.activeBeads.get(name);
  const rest =
    session === undefined ? (present.poolRests.get(agent.qualified_name) ?? present.poolRests.get(name)) : restOfSession(session);
  const starting = session === undefined ? undefined : startOf(session);
  const reason = suspended ? 'agent is suspended' : reasonOf(config, agent, provider, present);
  return {
    name,
    running,
    suspended,
    suspended_declared: declared,
    suspended_runtime: runtime ?? null,
    pack_derived: agent.origin === 'pack',
    state: suspended ? 'suspended' : stateOf(session, active),
    available: reason === undefined,
    ...(reason === undefined ? {} : { unavailable_reason: reason }),
    ...(agent.description === undefined ? {} : { description: agent.description }),
    ...(provider === undefined ? {} : { provider, display_name: specOf(config, provider)?.display_name ?? provider }),
    ...(agent.dir === '' ? {} : { rig: agent.dir }),
    ...(pool === undefined ? {} : { pool }),
    ...(agent.pack === undefined ? {} : { pack: agent.pack }),
    ...activeBead(active),
    ...(session?.live === true ? liveMembers(session) : {}),
    ...(rest === undefined ? {} : { rest }),
    ...(starting === undefined ? {} : { starting }),
  };
}

/** Quarantined, stopped, working (it holds work and has done something lately), waiting (for an answer, or with work) or idle. */
function stateOf(session: AgentSession | undefined, active: string | undefined): string {
  if (session?.state === 'quarantined') return 'quarantined';
  if (session?.live !== true) return 'stopped';
  const { in_turn, pending, last_turn_at, now } = session;
  if (pending) return 'waiting';
  if (active === undefined) return in_turn ? 'working' : 'idle';
  return in_turn || (last_turn_at !== null && now.getTime() - last_turn_at.getTime() < WORKING_MS) ? 'working' : 'waiting';
}

function restOfSession(session: AgentSession): AgentRest | undefined {
  const rest = restOf(session, session.now);
  return rest && { ...rest, session_id: session.id };
}

function liveMembers(session: AgentSession): Partial<AgentResponse> {
  const { session_name: name, in_turn, last_turn_at: at, model, context_used: used, context_window: window, output } = session;
  return {
    session: { name, attached: false, ...(at === null ? {} : { last_activity: at.toISOString() }) },
    activity: in_turn ? 'in-turn' : 'idle',
    ...(model === null ? {} : { model }),
    ...(window === null ? {} : { context_window: window }),
    ...(window === null || window <= 0 || used === null ? {} : { context_pct: Math.min(100, Math.round((used / window) * 100)) }),
    ...(output === null || output === '' ? {} : { last_output: output }),
  };
}

function activeBead(id: string | undefined): Pick<AgentResponse, 'active_bead'> {
  return id === undefined ? {} : { active_bead: id };
}

/** Why an agent cannot be started although it is not suspended itself. */
function reasonOf(
  config: CityConfig,
  agent: AgentConfig,
  provider: string | undefined,
  { citySuspended, suspendedRigs, unready }: Present,
): string | undefined {
  if (suspendedRigs.has(agent.dir)) return `rig ${agent.dir} is suspended`;
  if (citySuspended) return 'city is suspended';
  if (startsItself(config, agent)) return undefined;
  if (provider === undefined) return 'no provider is configured';
  if (specOf(config, provider) === undefined) return `provider ${provider} not found`;
  const preset = presetBehind(config, provider);
  const status = preset === undefined ? undefined : unready.get(preset);
  return status === undefined ? undefined : `provider ${provider} is not ready: ${status}`;
}
