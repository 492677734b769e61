import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';

/** What a list of agents shows in one line: an agent, or a member of a pool. */
export interface Member {
  /** Qualified. */
  readonly name: string;
  readonly agent: AgentConfig;
  /** The qualified name of the agent, for a member of its pool. */
  readonly pool?: string;
}

/** How many sessions of an agent are named in advance; undefined for one without a bound, or with no more than one. */
export function sizeOf({ max_active_sessions: most }: AgentConfig): number | undefined {
  return most !== undefined && most > 1 ? most : undefined;
}

/**
 * The members of a bounded pool in order, else the agent itself. A pool with names of its own takes those, then numbers.
 * Lazily: a bound may be larger than anybody wants to list.
 */
export function* membersOf(agent: AgentConfig): Generator<Member> {
  const size = sizeOf(agent);
  if (size === undefined) yield { name: agent.qualified_name, agent };
  else for (let n = 1; n <= size; n++) yield { name: memberName(agent, n), agent, pool: agent.qualified_name };
}

/** The name of a pool's member by its slot, from 1. */
export function memberName(agent: AgentConfig, n: number): string {
  const given = agent.namepool?.[n - 1];
  return given === undefined ? `${agent.qualified_name}-${n}` : placeOf(agent) + given;
}

/** What stands before an agent's own name: `rig/binding.`. */
function placeOf({ qualified_name, name }: AgentConfig): string {
  return qualified_name.slice(0, qualified_name.length - name.length);
}

/**
 * The agent or member of a path: by its qualified name, else as a member of a pool, else by a bare name that one agent of
 * the rig has, or of the city's own, or of the whole city when no rig is named.
 */
export function findMember({ agents }: CityConfig, dir: string, base: string): Member | undefined {
  const wanted = dir === '' ? base : `${dir}/${base}`;
  const agent = agents.find(({ qualified_name }) => qualified_name === wanted);
  if (agent !== undefined) return { name: wanted, agent };
  return findInPools(agents, wanted) ?? only(agents.filter((one) => one.name === base && one.dir === dir)) ?? anywhere(agents, dir, base);
}

/** Who has a member's name, whatever the bound of the pool is. */
export function findUnbounded({ agents }: CityConfig, name: string): Member | undefined {
  return findInPools(agents, name, () => Infinity);
}

function anywhere(agents: readonly AgentConfig[], dir: string, base: string): Member | undefined {
  return dir === '' ? only(agents.filter(({ name }) => name === base)) : undefined;
}

function only(found: readonly AgentConfig[]): Member | undefined {
  const [agent] = found;
  return agent === undefined || found.length > 1 ? undefined : { name: agent.qualified_name, agent };
}

const NUMBERED = /^(.+)-([1-9]\d{0,8})$/s;

function findInPools(agents: readonly AgentConfig[], wanted: string, sizeOfPool = sizeOf): Member | undefined {
  const [, before, digits] = NUMBERED.exec(wanted) ?? [];
  for (const agent of agents) {
    const size = sizeOfPool(agent);
    if (size === undefined) continue;
    const pool = agent.qualified_name;
    const given = agent.namepool ?? [];
    const n = pool === before ? Number(digits) : given.findIndex((name) => placeOf(agent) + name === wanted) + 1;
    if (n >= 1 && n <= size && memberName(agent, n) === wanted) return { name: wanted, agent, pool };
  }
  return undefined;
}
