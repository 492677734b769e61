import { agentEnvironment } from '../../../platform/runtime/environment.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { Template } from './launch.js';

type Variables = Readonly<Record<string, string>>;

/** Ours: nobody's files may set them. */
const RESERVED = /^SVC_/;

/** What the files say, lowest first: the city, the provider, the agent. Nothing is expanded. */
export function declaredEnvironment({ workspace }: CityConfig, { spec, agent }: Pick<Template, 'spec' | 'agent'>): Variables {
  const env: Record<string, string> = {};
  for (const layer of [workspace.env, spec.env, agent?.env])
    for (const [name, value] of Object.entries(layer ?? {})) if (isUsable(name, value)) env[name] = value;
  return env;
}

/**
 * All that an agent's process gets, lowest to highest: what hosts pass on, what the files say, the keys of its upstream, and
 * what we say ourselves. `$NAME` and `${NAME}` stand for what hosts pass on and nothing else.
 */
export function environmentOf(config: CityConfig, template: Template, host: Variables, identity: Variables, path: string): Variables {
  const expanded = (values: Variables): Variables =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expand(value, host)]));
  const said = Object.fromEntries(Object.entries(identity).filter(([, value]) => isText(value)));
  const layers = [expanded(declaredEnvironment(config, template)), expanded(upstreamEnvironment(config, template)), said];
  // First what we say: of an environment that is very long only the beginning is looked at to tell whose a process is.
  const all = { ...said, ...agentEnvironment(host, ...layers) };
  all.PATH = all.PATH === undefined || all.PATH === '' ? path : `${path}:${all.PATH}`;
  return all;
}

/** The endpoint that an agent's calls go to, in the variables that its program reads. */
export function upstreamEnvironment({ upstreams, agent_defaults }: CityConfig, { spec, agent }: Template): Variables {
  const name = agent?.upstream ?? agent_defaults?.upstream;
  if (typeof name !== 'string' || !Object.hasOwn(upstreams, name)) return {};
  const upstream = upstreams[name]! as Readonly<Record<string, string | Variables | undefined>>;
  const names = (spec.upstream_env ?? {}) as Variables;
  const env: Record<string, string> = {};
  for (const key of ['base_url', 'api_key', 'auth_token']) {
    const variable = (upstream[`${key}_env`] as string | undefined) ?? names[key];
    const value = upstream[key] as string | undefined;
    if (variable !== undefined && value !== undefined && isUsable(variable, value)) env[variable] = value;
  }
  for (const [variable, value] of Object.entries((upstream.env ?? {}) as Variables)) if (isUsable(variable, value)) env[variable] = value;
  return env;
}

/** `$NAME` and `${NAME}` as what hosts pass on, and as nothing where they do not. */
export function expand(value: string, host: Variables): string {
  return value.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, bare?: string) => {
    const name = (braced ?? bare)!;
    return Object.hasOwn(host, name) ? host[name]! : '';
  });
}

function isUsable(name: string, value: string): boolean {
  return name !== '' && !RESERVED.test(name) && !name.includes('=') && isText(name) && isText(value);
}

/** A process cannot have a variable with a NUL in it. */
function isText(value: string): boolean {
  return !value.includes('\0');
}
