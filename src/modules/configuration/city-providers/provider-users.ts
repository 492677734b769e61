import type { CityConfig } from '../../files/composition/city-config.js';
import { presetOf } from '../../files/composition/presets/presets.js';

/** Everything in a configuration that would lack a provider if it went, in words. */
export function usersOf(config: CityConfig, name: string): string[] {
  const { workspace, agent_defaults, agents, providers, patches } = config;
  return [
    ...(workspace.provider === name ? ['workspace.provider'] : []),
    ...(agent_defaults?.provider === name ? ['agent_defaults.provider'] : []),
    ...agents.filter((agent) => agent.provider === name && agent.origin !== 'implicit').map((agent) => `agent ${agent.qualified_name}`),
    ...Object.entries(providers)
      .filter(([other, { base }]) => other !== name && buildsOn(base, name))
      .map(([other]) => `provider ${other}`),
    ...patches.agent.filter((patch) => patch.provider === name).map((patch) => `the patch of agent ${targetOf(patch)}`),
    ...patches.providers.filter((patch) => patch.name === name).map(() => 'a patch of it'),
  ];
}

/** A bare base falls back to the builtin of its name. */
function buildsOn(base: string | undefined, name: string): boolean {
  return base === `provider:${name}` || (base === name && presetOf(name) === undefined);
}

function targetOf(patch: Readonly<Record<string, unknown>>): string {
  const dir = typeof patch.dir === 'string' && patch.dir !== '' ? `${patch.dir}/` : '';
  return `${dir}${String(patch.name)}`;
}
