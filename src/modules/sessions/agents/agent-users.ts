import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { agentMeant } from './agent-names.js';

type Table = Readonly<Record<string, unknown>>;

/** Everything in a configuration that would lack one of these agents if they went, in words. */
export function usersOf(config: CityConfig, going: readonly AgentConfig[]): string[] {
  const names = new Set(config.agents.map(({ qualified_name }) => qualified_name));
  const gone = new Set(going.map(({ qualified_name }) => qualified_name));
  const means = (text: unknown, dir: string, binding?: string): boolean => gone.has(agentMeant(names, text, dir, binding) ?? '');
  return [
    ...config.named_sessions
      .filter(({ template, dir }) => means(template, dir))
      .map((session) => `named session ${session.qualified_name}`),
    ...config.agents
      .filter(({ qualified_name }) => !gone.has(qualified_name))
      .filter((agent) => list(agent.depends_on).some((name) => means(name, agent.dir, agent.binding)))
      .map((agent) => `agent ${agent.qualified_name}`),
    ...config.rigs
      .filter((rig) => [rig.default_sling_target, ...list(rig.default_sling_targets)].some((target) => means(target, rig.name)))
      .map(({ name }) => `the sling target of rig ${name}`),
    ...config.rigs
      .filter((rig) =>
        [...list(rig.overrides), ...list(rig.patches)].some((patch) => going.some((agent) => isPatchOfRig(patch, rig.name, agent))),
      )
      .map(({ name }) => `a patch of rig ${name}`),
    ...routes(config)
      .filter(({ agent }) => means(agent, ''))
      .map(() => 'a default route of extmsg'),
    ...config.patches.agent.filter((patch) => isPatched(config, patch, going)).map((patch) => `the patch of agent ${targetOf(patch)}`),
  ];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function routes({ extmsg }: CityConfig): readonly Table[] {
  return list((extmsg as Table | undefined)?.default_route) as readonly Table[];
}

function isPatchOfRig(patch: unknown, rig: string, agent: AgentConfig): boolean {
  const name = (patch as Table).agent;
  return agent.dir === rig && (name === agent.name || `${rig}/${String(name)}` === agent.qualified_name);
}

/** The root pack may patch by the bare name: such a patch lacks a target only when nobody of the name is left. */
function isPatched({ agents }: CityConfig, patch: Table, going: readonly AgentConfig[]): boolean {
  const target = targetOf(patch);
  if (going.some((agent) => agent.qualified_name === target)) return true;
  if ((patch.dir ?? '') !== '' || !going.some((agent) => agent.name === patch.name)) return false;
  return !agents.some((agent) => agent.name === patch.name && !going.includes(agent));
}

/** `[dir/]name` of a patch of an agent. */
export function targetOf({ dir, name }: Table): string {
  return typeof dir === 'string' && dir !== '' ? `${dir}/${String(name)}` : String(name);
}
