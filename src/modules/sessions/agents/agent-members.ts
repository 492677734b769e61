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
  const known = indexOf(agents);
  const agent = known.byName.get(wanted);
  if (agent !== undefined) return { name: wanted, agent };
  return (
    findInPools(known, wanted) ?? only(known.inPlace.get(placeKey(dir, base))) ?? (dir === '' ? only(known.bare.get(base)) : undefined)
  );
}

/** Who has a member's name, whatever the bound of the pool is. Goes over all agents: who has found nobody asks, and once. */
export function findUnbounded({ agents }: CityConfig, name: string): Member | undefined {
  const [, before, digits] = NUMBERED.exec(name) ?? [];
  for (const agent of agents) {
    const pool = agent.qualified_name;
    const n = pool === before ? Number(digits) : (agent.namepool ?? []).findIndex((given) => placeOf(agent) + given === name) + 1;
    if (n >= 1 && memberName(agent, n) === name) return { name, agent, pool };
  }
  return undefined;
}

/** Agents of whose pools a name may be a member, in their order: by its number, or by a name of a pool. Their pools may have no bound. */
export function poolsOf({ agents }: CityConfig, name: string): AgentConfig[] {
  const { byName, given, places } = indexOf(agents);
  const found = [byName.get(NUMBERED.exec(name)?.[1] ?? ''), given.get(name)?.agent].filter((agent) => agent !== undefined);
  return [...new Set(found)].sort((a, b) => places.get(a)! - places.get(b)!);
}

/** The agent of a qualified name. */
export function agentNamed({ agents }: CityConfig, name: string): AgentConfig | undefined {
  return indexOf(agents).byName.get(name);
}

interface Index {
  /** By qualified name. */
  readonly byName: ReadonlyMap<string, AgentConfig>;
  /** By rig and own name, and by own name alone; undefined where several have it. */
  readonly inPlace: ReadonlyMap<string, AgentConfig | undefined>;
  readonly bare: ReadonlyMap<string, AgentConfig | undefined>;
  /** Members with names of their own, by these, with the place of their agent among all. */
  readonly given: ReadonlyMap<string, { readonly agent: AgentConfig; readonly at: number }>;
  readonly places: ReadonlyMap<AgentConfig, number>;
}

const indices = new WeakMap<readonly AgentConfig[], Index>();

/** Agents by all that they are found by: each look at the pools of a city asks for thousands among thousands. */
function indexOf(agents: readonly AgentConfig[]): Index {
  let index = indices.get(agents);
  if (index === undefined) indices.set(agents, (index = indexed(agents)));
  return index;
}

function indexed(agents: readonly AgentConfig[]): Index {
  const byName = new Map<string, AgentConfig>();
  const inPlace = new Map<string, AgentConfig | undefined>();
  const bare = new Map<string, AgentConfig | undefined>();
  const given = new Map<string, { agent: AgentConfig; at: number }>();
  const places = new Map<AgentConfig, number>();
  for (const [at, agent] of agents.entries()) {
    const key = placeKey(agent.dir, agent.name);
    if (!byName.has(agent.qualified_name)) byName.set(agent.qualified_name, agent);
    inPlace.set(key, inPlace.has(key) ? undefined : agent);
    bare.set(agent.name, bare.has(agent.name) ? undefined : agent);
    places.set(agent, at);
    for (const name of (agent.namepool ?? []).slice(0, sizeOf(agent) ?? 0)) {
      const member = placeOf(agent) + name;
      if (!given.has(member)) given.set(member, { agent, at });
    }
  }
  return { byName, inPlace, bare, given, places };
}

const placeKey = (dir: string, name: string): string => `${dir}\n${name}`;

function only(agent: AgentConfig | undefined): Member | undefined {
  return agent === undefined ? undefined : { name: agent.qualified_name, agent };
}

const NUMBERED = /^(.+)-([1-9]\d{0,8})$/s;

/** The first pool that has such a member. */
function findInPools({ byName, given, places }: Index, wanted: string): Member | undefined {
  const [, before = '', digits] = NUMBERED.exec(wanted) ?? [];
  const numbered = byName.get(before);
  const isMember = numbered !== undefined && Number(digits) <= (sizeOf(numbered) ?? 0) && memberName(numbered, Number(digits)) === wanted;
  const named = given.get(wanted);
  if (isMember && (named === undefined || places.get(numbered)! < named.at)) return { name: wanted, agent: numbered, pool: before };
  return named === undefined ? undefined : { name: wanted, agent: named.agent, pool: named.agent.qualified_name };
}
