import type { AgentConfig, CityConfig, ProviderSpec } from '../../files/composition/city-config.js';
import { presetOf, PRESETS } from '../../files/composition/presets/presets.js';

/** Hierarchies of providers are never deeper. */
const MAX_DEPTH = 16;

/** The provider that an agent is started with; undefined when it has a command instead, or nothing at all. */
export function providerOf({ workspace }: CityConfig, agent: AgentConfig): string | undefined {
  return agent.provider ?? (hasCommand(agent.start_command) ? undefined : workspace.provider);
}

/** Whether an agent is started without asking what its provider's command is. */
export function startsItself({ workspace }: CityConfig, agent: AgentConfig): boolean {
  return (
    hasCommand(agent.start_command) ||
    (agent.provider === undefined && workspace.provider === undefined && hasCommand(workspace.start_command))
  );
}

/** A provider with everything it inherits; undefined when the city knows none of this name. */
export function specOf({ resolved_providers }: CityConfig, name: string): ProviderSpec | undefined {
  return own(resolved_providers, name) ?? presetOf(name);
}

/** The preset whose program a provider starts, which worker hosts can look for; undefined when it starts something else. */
export function presetBehind(config: CityConfig, name: string): string | undefined {
  const preset = rootOf(config.providers, name);
  const spec = specOf(config, name);
  if (preset === undefined || spec === undefined) return undefined;
  return spec.command === PRESETS[preset]!.command && !hasCommand(spec.acp_command) ? preset : undefined;
}

function rootOf(providers: CityConfig['providers'], name: string): string | undefined {
  let at = name;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const base = own(providers, at)?.base ?? `builtin:${at}`;
    if (base.startsWith('builtin:')) return builtin(base.slice('builtin:'.length));
    const custom = base.startsWith('provider:') ? base.slice('provider:'.length) : base;
    if (custom === at || own(providers, custom) === undefined) return builtin(custom);
    at = custom;
  }
  return undefined;
}

function builtin(name: string): string | undefined {
  return presetOf(name) === undefined ? undefined : name;
}

function hasCommand(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function own(specs: Readonly<Record<string, ProviderSpec>>, name: string): ProviderSpec | undefined {
  return Object.hasOwn(specs, name) ? specs[name] : undefined;
}
