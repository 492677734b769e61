import { createHash } from 'node:crypto';
import { problem } from '../../../contract/problems.js';
import type { CityConfig, NamedSessionConfig } from '../../files/composition/city-config.js';
import type { SESSION_NAME_VARIABLES, ValuesOf } from '../../files/composition/variables.js';

const ALIAS = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*(\/[a-zA-Z0-9][a-zA-Z0-9_.-]*)*$/;
const NAME_MAX = 64;
const RESERVED = 's-';

/**
 * @param prefixes Of ids in this city: a name must never look like an id.
 * @throws ProblemError invalid_request
 */
export function checkAlias(alias: string, prefixes: readonly string[]): void {
  const wrong = (why: string): Error => problem('invalid_request', `invalid alias: ${why}`, { at: 'body.alias', value: alias });
  if (alias.length > NAME_MAX) throw wrong(`longer than ${NAME_MAX} characters`);
  if (!ALIAS.test(alias))
    throw wrong('letters, digits, "_", "." and "-" in segments that "/" separates, each beginning with a letter or a digit');
  if (alias === 'human') throw wrong('"human" is reserved');
  if (alias.startsWith(RESERVED)) throw wrong(`the prefix "${RESERVED}" is reserved`);
  const dash = alias.lastIndexOf('-');
  if (dash > 0 && /^\d+$/.test(alias.slice(dash + 1)) && prefixes.includes(alias.slice(0, dash))) throw wrong('it looks like an id');
}

/** The runtime name of the session of a configured identity. Where others would have the same one it ends in what only this identity has. */
export function namedSessionName(config: CityConfig, named: NamedSessionConfig, city: string): string {
  const name = sharedName(config, named, city);
  const identity = named.qualified_name;
  const isShared = config.named_sessions.some((one) => one.qualified_name !== identity && sharedName(config, one, city) === name);
  if (!isShared) return name;
  const suffix = `-${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
  return name.slice(0, NAME_MAX - suffix.length) + suffix;
}

/** As the template has it, or the identity: either may be cut, and a template need not say whose it is. */
function sharedName(config: CityConfig, named: NamedSessionConfig, city: string): string {
  const derived = fitted(named.qualified_name.replaceAll('/', '--').replaceAll('.', '__'));
  const template = config.workspace.session_template;
  if (template === undefined || template === '') return derived;
  const known: ValuesOf<typeof SESSION_NAME_VARIABLES> = {
    City: city,
    CityName: city,
    Agent: named.qualified_name,
    AgentBase: named.name,
    Identity: named.qualified_name,
    Name: named.name,
    Rig: named.dir,
  };
  const values: Readonly<Record<string, string>> = known;
  let isWhole = true;
  const filled = template.replaceAll(/\{\{\s*\.(\w+)\s*\}\}/g, (_all, name: string) => {
    if (!Object.hasOwn(values, name)) isWhole = false;
    return values[name] ?? '';
  });
  const name = fitted(filled.replaceAll('/', '--').replaceAll('.', '__'));
  return isWhole && /^[a-zA-Z0-9]/.test(name) && !name.startsWith(RESERVED) ? name : derived;
}

/** Names of processes are plain and short. */
function fitted(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '-').slice(0, NAME_MAX);
}

/** The runtime name of a session that is one of many of its agent and has no alias. */
export function adHocName(base: string, unique: string): string {
  const suffix = `-adhoc-${unique}`;
  return fitted(base).slice(0, NAME_MAX - suffix.length) + suffix;
}

/** The address of a session of an agent with many: in the agent's rig. */
export function qualifiedAlias(alias: string, rig: string, isPool: boolean): string {
  return rig === '' || !isPool || alias.startsWith(`${rig}/`) ? alias : `${rig}/${alias}`;
}
