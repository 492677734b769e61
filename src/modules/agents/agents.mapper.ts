import type { AgentConfig, CityConfig } from '../composition/city-config.js';
import type { Member } from './agent-members.js';
import { presetBehind, providerOf, specOf, startsItself } from './agent-provider.js';
import type { AgentResponse } from './agents.schemas.js';

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
}

export function toAgent(config: CityConfig, { name, agent, pool }: Member, present: Present): AgentResponse {
  const declared = agent.suspended ?? false;
  const runtime = present.switches.get(agent.qualified_name);
  const suspended = runtime ?? declared;
  const provider = providerOf(config, agent);
  const reason = suspended ? 'agent is suspended' : reasonOf(config, agent, provider, present);
  return {
    name,
    running: false,
    suspended,
    suspended_declared: declared,
    suspended_runtime: runtime ?? null,
    pack_derived: agent.origin === 'pack',
    state: suspended ? 'suspended' : 'stopped',
    available: reason === undefined,
    ...(reason === undefined ? {} : { unavailable_reason: reason }),
    ...(agent.description === undefined ? {} : { description: agent.description }),
    ...(provider === undefined ? {} : { provider, display_name: specOf(config, provider)?.display_name ?? provider }),
    ...(agent.dir === '' ? {} : { rig: agent.dir }),
    ...(pool === undefined ? {} : { pool }),
    ...(agent.pack === undefined ? {} : { pack: agent.pack }),
    ...activeBead(present.activeBeads.get(name)),
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
