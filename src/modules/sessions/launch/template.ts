import { problem, ProblemError } from '../../../contract/problems.js';
import type { Transport } from '../../../platform/runtime/port.js';
import { agentNamed, findMember } from '../agents/agent-members.js';
import { presetBehind, providerOf, specOf, startsItself } from '../agents/agent-provider.js';
import type { AgentConfig, CityConfig, NamedSessionConfig, ProviderOption, ProviderSpec } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { Template } from './launch.js';

const EXEC = 'exec:';

/**
 * What a session of this name is made from. A bare name that only one agent has is accepted.
 *
 * @throws ProblemError agent_not_found, provider_not_found, provider_not_ready for a transport that the provider has not
 */
export function templateOf(config: CityConfig, kind: 'agent' | 'provider', name: string): Template {
  if (kind === 'provider') return templateOfProvider(config, name);
  const slash = name.indexOf('/');
  const member = slash === -1 ? findMember(config, '', name) : findMember(config, name.slice(0, slash), name.slice(slash + 1));
  if (member === undefined) throw problem('agent_not_found', `agent ${name} not found`);
  return templateOfAgent(config, member.agent);
}

/** As `templateOf`; undefined for what the configuration does not have any more, or has in a way that cannot be started. */
export function knownTemplate(config: CityConfig, { kind, template }: Pick<SessionRow, 'kind' | 'template'>): Template | undefined {
  try {
    return templateOf(config, kind, template);
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

/** What a configured named session is made from. @throws as `templateOf` */
export function templateOfNamed(config: CityConfig, named: NamedSessionConfig): Template {
  const agent = agentOfNamed(config, named);
  if (agent === undefined)
    throw problem('agent_not_found', `agent ${named.template} of the named session ${named.qualified_name} not found`);
  return { ...templateOfAgent(config, agent), title: named.qualified_name, named };
}

/** The agent of a named session: in its own rig before one of the city, with the session's binding before one without. */
export function agentOfNamed(config: CityConfig, { template, dir, binding }: NamedSessionConfig): AgentConfig | undefined {
  const bound = typeof binding === 'string' && binding !== '' ? [`${binding}.${template}`, template] : [template];
  const names = [...(dir === '' ? [] : bound.map((name) => `${dir}/${name}`)), ...bound];
  for (const name of names) {
    const agent = agentNamed(config, name);
    if (agent !== undefined) return agent;
  }
  return undefined;
}

/** The agent that the configured name of a session stands for, where that is another one than the session is of. */
export function otherAgent(
  config: CityConfig,
  { named_identity, agent }: Pick<SessionRow, 'named_identity' | 'agent'>,
): AgentConfig | undefined {
  const named = config.named_sessions.find(({ qualified_name }) => qualified_name === named_identity);
  const now = named && agentOfNamed(config, named);
  return now?.qualified_name === agent ? undefined : now;
}

/** Whether the configured name of a session stands for another agent than the session is of. */
export function hasOtherAgent(config: CityConfig, row: Pick<SessionRow, 'named_identity' | 'agent'>): boolean {
  return otherAgent(config, row) !== undefined;
}

function templateOfProvider(config: CityConfig, name: string): Template {
  const spec = specOf(config, name);
  if (spec === undefined) throw problem('provider_not_found', `provider ${name} not found`);
  return {
    kind: 'provider',
    name,
    rig: '',
    provider: name,
    spec,
    preset: presetBehind(config, name),
    transport: transportOf(config, spec, undefined, name),
    ...optionsOf(spec, undefined),
    title: spec.display_name ?? name,
    isPool: true,
  };
}

function templateOfAgent(config: CityConfig, agent: AgentConfig): Template {
  const own = startsItself(config, agent);
  const provider = providerOf(config, agent);
  const spec = provider === undefined ? undefined : specOf(config, provider);
  if (!own && provider === undefined) throw problem('provider_not_found', `agent ${agent.qualified_name} has no provider`);
  if (!own && spec === undefined) throw problem('provider_not_found', `provider ${provider} of agent ${agent.qualified_name} not found`);
  const started = own ? withCommand(config, agent, spec ?? {}) : spec!;
  const most = agent.max_active_sessions;
  return {
    kind: 'agent',
    name: agent.qualified_name,
    agent,
    rig: agent.dir,
    provider: provider ?? '',
    spec: started,
    preset: own || provider === undefined ? undefined : presetBehind(config, provider),
    transport: transportOf(config, started, agent, agent.qualified_name),
    ...optionsOf(started, agent),
    title: agent.qualified_name,
    isPool: most === undefined || most < 0 || most > 1,
  };
}

/** A command of one's own says nothing about options, prompts or ACP: all of that belonged to the provider's. */
function withCommand({ workspace }: CityConfig, agent: AgentConfig, { env }: ProviderSpec): ProviderSpec {
  const own = agent.start_command;
  return {
    command: typeof own === 'string' && own !== '' ? own : workspace.start_command!,
    supports_acp: agent.session === 'acp',
    ...(env === undefined ? {} : { env }),
  };
}

/** @throws ProblemError provider_not_ready when an agent asks for ACP and the provider does not speak it */
function transportOf(config: CityConfig, spec: ProviderSpec, agent: AgentConfig | undefined, name: string): Transport {
  if (spec.command?.startsWith(EXEC) === true) return 'exec';
  const speaks = spec.supports_acp === true;
  if (agent?.session === 'acp') {
    if (speaks) return 'acp';
    throw problem('provider_not_ready', `${name} asks for the acp transport, which its provider does not support`);
  }
  if (agent?.session === 'tmux') return 'pty';
  const wanted = cityTransport(config);
  if (wanted !== undefined && wanted !== 'acp') return wanted;
  return speaks ? 'acp' : 'pty';
}

/** What `[session] provider` asks for: a script, terminals, or nothing in particular. */
function cityTransport(config: CityConfig): Transport | undefined {
  const provider = sessionProvider(config);
  if (provider?.startsWith(EXEC) === true) return 'exec';
  return provider === 'acp' ? 'acp' : provider === 'tmux' ? 'pty' : undefined;
}

/** The script that all sessions of a city run in, or that one provider is. */
export function execScript(config: CityConfig, { spec }: Pick<Template, 'spec'>): string | undefined {
  for (const written of [spec.command, sessionProvider(config)]) if (written?.startsWith(EXEC) === true) return written.slice(EXEC.length);
  return undefined;
}

function sessionProvider({ session }: CityConfig): string | undefined {
  const provider = (session as { provider?: unknown } | undefined)?.provider;
  return typeof provider === 'string' && provider !== '' ? provider : undefined;
}

function optionsOf(spec: ProviderSpec, agent: AgentConfig | undefined): Pick<Template, 'optionSchema' | 'optionDefaults'> {
  const optionSchema = spec.options_schema ?? [];
  const given = [spec.option_defaults, agent?.option_defaults as Readonly<Record<string, string>> | undefined];
  const optionDefaults: Record<string, string> = {};
  for (const option of optionSchema) {
    if (option.default !== undefined) optionDefaults[option.key] = option.default;
    for (const defaults of given) {
      const value = defaults !== undefined && Object.hasOwn(defaults, option.key) ? defaults[option.key] : undefined;
      if (value !== undefined && allows(option, value)) optionDefaults[option.key] = value;
    }
  }
  return { optionSchema, optionDefaults };
}

export function allows({ choices, default: fallback }: ProviderOption, value: string): boolean {
  return choices?.some((choice) => choice.value === value) === true || (value === '' && (fallback ?? '') === '');
}

/** @throws ProblemError invalid_request naming the first option that is unknown or has a value that it cannot have */
export function checkOptions({ name, optionSchema }: Template, options: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(options)) {
    const option = optionSchema.find((one) => one.key === key);
    if (option === undefined) {
      const known = optionSchema.map((one) => one.key);
      throw problem(
        'invalid_request',
        `unknown option: ${key} (${known.length === 0 ? `${name} has none` : `accepted: ${known.join(', ')}`})`,
        { at: `body.options.${key}`, value },
      );
    }
    if (!allows(option, value)) {
      const accepted = (option.choices ?? []).map((choice) => choice.value).filter((one) => one !== '');
      throw problem('invalid_request', `invalid value for ${key}: ${value} (accepted: ${accepted.join(', ')})`, {
        at: `body.options.${key}`,
        value,
      });
    }
  }
}
