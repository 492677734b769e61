import type { CityConfig } from '../../files/composition/city-config.js';
import type { Switches } from '../../configuration/roster/roster.service.js';

/** Why sessions of an agent (undefined for a bare provider's) in a rig ('' for the city's own) may not run; undefined when they may. */
export type Blockers = (agent: string | undefined, rig: string) => string | undefined;

export interface SuspensionFacts {
  readonly switches: Switches;
  /** Undefined before the first revision: then only switches count. */
  readonly config?: Pick<CityConfig, 'agents' | 'rigs'> | undefined;
}

/**
 * The one rule of suspension: a switch set at run time counts, else what the files say; the narrowest blocker is named. An
 * agent that the configuration does not have any more is blocked too, since nothing says how to start it.
 */
export function blockersOf({ switches, config }: SuspensionFacts): Blockers {
  const agents = config && new Map(config.agents.map((agent) => [agent.qualified_name, agent.suspended ?? false]));
  const rigs = new Map(config?.rigs.map((rig) => [rig.name, rig.suspended_on_start]));
  return (agent, rig) => {
    if (agent !== undefined) {
      if (agents !== undefined && !agents.has(agent)) return `agent ${agent} is not configured any more`;
      if (switches.agents.get(agent) ?? agents?.get(agent) ?? false) return `agent ${agent} is suspended`;
    }
    if (rig !== '' && (switches.rigs.get(rig) ?? rigs.get(rig) ?? false)) return `rig ${rig} is suspended`;
    return switches.city ? 'the city is suspended' : undefined;
  };
}
