import type { AgentConfig, CityConfig, ProviderSpec } from '../../files/composition/city-config.js';
import { masked } from '../../files/composition/mask.js';
import type { CurrentRow, Rejection, RevisionRow } from './config.repository.js';
import type { ConfigExplainResponse, ConfigRejection, ConfigResponse, ConfigRevision, ProviderSpecJSON } from './config.schemas.js';

/** What the two answers say of an agent. */
function toAgent(
  agent: AgentConfig,
): { name: string; suspended: boolean; is_pool: boolean } & Partial<Record<'dir' | 'provider' | 'scope', string>> {
  return {
    name: agent.binding === '' ? agent.name : `${agent.binding}.${agent.name}`,
    suspended: agent.suspended ?? false,
    is_pool: isPool(agent),
    ...(agent.dir === '' ? {} : { dir: agent.dir }),
    ...(agent.provider === undefined ? {} : { provider: agent.provider }),
    ...(agent.scope === undefined ? {} : { scope: agent.scope }),
  };
}

/** An agent that may run more than one session at a time. */
function isPool(agent: AgentConfig): boolean {
  return agent.max_active_sessions !== undefined && agent.max_active_sessions !== 0 && agent.max_active_sessions !== 1;
}

/** The part of a provider's definition that is shown; values of `env` are masked. */
function toProviderSpec(spec: ProviderSpec): ProviderSpecJSON {
  const shown = masked(spec) as Record<string, unknown>;
  const keys = [
    'acp_args',
    'acp_command',
    'args',
    'command',
    'display_name',
    'env',
    'prompt_flag',
    'prompt_mode',
    'ready_delay_ms',
    'base',
    'network',
  ];
  return Object.fromEntries(keys.flatMap((key) => (shown[key] === undefined ? [] : [[key, shown[key]]]))) as ProviderSpecJSON;
}

const OPEN = '{"workspace":{';

/** The answer of `GET config`, made once a revision; `finishAnswer` adds what changes without one. */
export function answerOf(config: CityConfig): string {
  const { workspace, patches } = config;
  const shown = {
    workspace: {
      name: workspace.name,
      prefix: workspace.prefix,
      ...pick(workspace, ['declared_name', 'declared_prefix', 'provider', 'session_template', 'max_active_sessions', 'network']),
    },
    agents: config.agents.map(toAgent),
    rigs: config.rigs.map((rig) => ({ name: rig.name, path: rig.path ?? '', suspended: rig.suspended_on_start, ...pick(rig, ['prefix']) })),
    providers: Object.fromEntries(Object.entries(config.providers).map(([name, spec]) => [name, toProviderSpec(spec)])),
    ...patchCounts(patches),
  };
  return JSON.stringify(shown);
}

function patchCounts(patches: CityConfig['patches']): Pick<ConfigResponse, 'patches'> {
  const counts = { agent_count: patches.agent.length, rig_count: patches.rigs.length, provider_count: patches.providers.length };
  return counts.agent_count + counts.rig_count + counts.provider_count === 0 ? {} : { patches: counts };
}

export function toRejection({ errors, errors_total, since }: Rejection): ConfigRejection {
  return { errors: [...errors], errors_total, since };
}

/** A prepared answer with the switches and the state of this moment, without parsing it. */
export function finishAnswer(row: CurrentRow, apiUrl: string | undefined): string {
  const suspended = row.suspended ?? row.suspended_on_start;
  const now = {
    revision: row.revision,
    hash: row.hash,
    ...(apiUrl === undefined ? {} : { effective_api_url: apiUrl }),
    ...(row.rejected === null ? {} : { rejected: toRejection(row.rejected) }),
  };
  return `${OPEN}"suspended":${suspended},${row.text.slice(OPEN.length, -1)},${JSON.stringify(now).slice(1)}`;
}

/** The answer of `GET config` for a configuration that nobody runs. */
export function toConfigResponse(config: CityConfig): ConfigResponse {
  const answer = JSON.parse(answerOf(config)) as ConfigResponse;
  return { ...answer, workspace: { ...answer.workspace, suspended: config.workspace.suspended_on_start } };
}

export function toExplained(config: CityConfig, presets: Readonly<Record<string, ProviderSpec>>): ConfigExplainResponse {
  const providers = new Map<string, ConfigExplainResponse['providers'][string]>();
  for (const [name, spec] of Object.entries(config.providers))
    providers.set(name, { ...toProviderSpec(spec), origin: presets[name] === undefined ? 'city' : 'builtin+city' });
  for (const [name, spec] of Object.entries(presets))
    if (!providers.has(name)) providers.set(name, { ...toProviderSpec(spec), origin: 'builtin' });
  return {
    agents: config.agents.map((agent) => ({
      ...toAgent(agent),
      origin: agent.origin === 'pack' ? 'pack-derived' : agent.origin === 'implicit' ? 'implicit' : 'inline',
      source: agent.source,
    })),
    providers: Object.fromEntries(providers),
    patches: { agents: config.patches.agent.length, rigs: config.patches.rigs.length, providers: config.patches.providers.length },
  };
}

export function toRevision(row: RevisionRow): ConfigRevision {
  return {
    ...row,
    changed: [...row.changed],
    warnings: [...row.warnings],
    cause: row.cause as ConfigRevision['cause'],
    created_at: row.created_at.toISOString(),
  };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const result: Partial<Pick<T, K>> = {};
  for (const key of keys) if (from[key] !== undefined) result[key] = from[key];
  return result;
}
