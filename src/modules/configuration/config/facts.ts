import type { CityConfig } from '../../files/composition/city-config.js';

/** What the registry shows of a configuration. */
export interface CityFacts {
  readonly provider: string | undefined;
  readonly startCommand: string | undefined;
  readonly sessionTemplate: string | undefined;
  readonly suspendedOnStart: boolean;
  readonly agentCount: number;
  readonly rigCount: number;
}

export function factsOf({ workspace, agents, rigs }: CityConfig): CityFacts {
  return {
    provider: workspace.provider,
    startCommand: workspace.start_command,
    sessionTemplate: workspace.session_template,
    suspendedOnStart: workspace.suspended_on_start,
    agentCount: agents.length,
    rigCount: rigs.length,
  };
}
