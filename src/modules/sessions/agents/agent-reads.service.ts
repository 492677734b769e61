import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../../contract/duration.js';
import type { BlockingRead } from '../../../contract/query.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { pageAfter } from '../../configuration/config/page.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { ProvidersService } from '../../hosts/providers/providers.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { EmptyRunsService } from '../session-store/empty-runs.service.js';
import { poolRestsOf } from './pool-rests.js';
import { linesOf } from './agent-lines.js';
import { findMember, findUnbounded, type Member } from './agent-members.js';
import { agentNotFound } from './agent-problems.js';
import { presetBehind, providerOf } from './agent-provider.js';
import { toAgent, type Present } from './agents.mapper.js';
import { AgentsRepository, type AgentSession } from './agents.repository.js';
import type { AgentResponse, AgentRest, AgentsQuery, ListBodyAgentResponse } from './agents.schemas.js';

/** An answer with the position that it is at least as new as. */
export interface AgentAnswer<T> {
  readonly body: T;
  readonly index: number;
}

const MAX_WAIT = '2m';
/** Pools may be larger than any list. */
const LISTED = 10_000;

/** The agents of a city as its configuration has them, with what is true of them now. */
@Injectable()
export class AgentReadsService {
  constructor(
    private readonly config: ConfigReadsService,
    private readonly repository: AgentsRepository,
    private readonly roster: RosterService,
    private readonly providers: ProvidersService,
    private readonly emptyRuns: EmptyRunsService,
    private readonly heads: HeadWaiter,
  ) {}

  /** The list now, or once the city's log has moved beyond `index`. */
  async list(city: CityScope, query: AgentsQuery, gone: AbortSignal): Promise<AgentAnswer<ListBodyAgentResponse>> {
    const answer = await this.#list(city, query);
    const waited = await this.heads.readAgain(city.stream, answer.index, bounded(query), gone);
    return waited ? this.#list(city, query) : answer;
  }

  /** @throws ProblemError agent_not_found */
  async get(city: CityScope, dir: string, base: string): Promise<AgentAnswer<AgentResponse>> {
    const { config, index } = await this.config.current(city);
    const sessions = await this.repository.sessions(city.streamId, false);
    const name = dir === '' ? base : `${dir}/${base}`;
    const member = findMember(config, dir, base) ?? running(config, sessions, name) ?? (await this.#resting(city, config, name));
    if (member === undefined) throw agentNotFound(dir, base);
    const [body] = await this.#answers(city, config, [member], sessions);
    return { body: body!, index };
  }

  /** A member of a pool without a bound that has no session for now: the status of the city names it. */
  async #resting(city: CityScope, config: CityConfig, name: string): Promise<Member | undefined> {
    const member = findUnbounded(config, name);
    // A pool that has a bound has its members without that, and those beyond it are nobody's.
    if (member === undefined || (member.agent.max_active_sessions ?? -1) >= 0) return undefined;
    return (await this.emptyRuns.rests(city.streamId, () => Promise.resolve(config))).has(name) ? member : undefined;
  }

  async #list(city: CityScope, query: AgentsQuery): Promise<AgentAnswer<ListBodyAgentResponse>> {
    const { config, index, revision } = await this.config.current(city);
    const sessions = await this.repository.sessions(city.streamId, query.peek);
    const { members, more } = listed(config, query, sessions);
    const answers = await this.#answers(city, config, members, sessions);
    const all = query.running === undefined ? answers : answers.filter(({ running }) => String(running) === query.running);
    const partial = more ? { partial: true, partial_errors: [`there are more; the first ${LISTED} are listed`] } : {};
    const { items, next } = pageAfter(all, query, revision);
    return { body: { items, total: all.length, ...next, ...partial }, index };
  }

  /** What is looked at after the configuration is newer than its index, never older. */
  async #answers(
    city: CityScope,
    config: CityConfig,
    members: readonly Member[],
    sessions: readonly AgentSession[],
  ): Promise<AgentResponse[]> {
    const [citySuspended, switches, activeBeads, unready, pauses] = await Promise.all([
      this.repository.citySuspended(city.id),
      this.roster.switches(city.streamId),
      this.repository.activeBeads(
        city.streamId,
        members.map(({ name }) => name),
      ),
      this.providers.unready(presetsOf(config, members)),
      this.emptyRuns.rests(city.streamId, () => Promise.resolve(config)),
    ]);
    if (citySuspended === undefined) throw notRunning(city.name);
    const rigs = config.rigs.filter((rig) => switches.rigs.get(rig.name) ?? rig.suspended_on_start);
    const suspendedRigs = new Set(rigs.map(({ name }) => name));
    const byName = new Map(sessions.map((session) => [session.name, session]));
    const byAgent = new Map(sessions.filter(({ live }) => live).map((session) => [session.agent, session]));
    const poolRests = new Map<string, AgentRest>([...pauses, ...poolRestsOf(sessions)]);
    const present: Present = {
      citySuspended,
      suspendedRigs,
      switches: switches.agents,
      activeBeads,
      unready,
      sessions: byName,
      byAgent,
      poolRests,
    };
    return members.map((member) => toAgent(config, member, present));
  }
}

function presetsOf(config: CityConfig, members: readonly Member[]): string[] {
  const providers = new Set(members.flatMap(({ agent }) => providerOf(config, agent) ?? []));
  return [...new Set([...providers].flatMap((provider) => presetBehind(config, provider) ?? []))];
}

/** In the order of the configuration, pools in place. */
function listed(config: CityConfig, { pool, rig }: AgentsQuery, sessions: readonly AgentSession[]): { members: Member[]; more: boolean } {
  const members: Member[] = [];
  const byAgent = Map.groupBy(sessions, (session) => session.agent);
  for (const agent of config.agents) {
    if ((rig !== undefined && agent.dir !== rig) || (pool !== undefined && agent.qualified_name !== pool)) continue;
    for (const member of linesOf(agent, byAgent.get(agent.qualified_name) ?? [])) {
      if (pool !== undefined && member.pool === undefined) continue;
      if (members.length === LISTED) return { members, more: true };
      members.push(member);
    }
  }
  return { members, more: false };
}

function running({ agents }: CityConfig, sessions: readonly AgentSession[], name: string): Member | undefined {
  const session = sessions.find((one) => one.name === name && one.slot !== null);
  const agent = session && agents.find(({ qualified_name }) => qualified_name === session.agent);
  return agent && { name, agent, pool: agent.qualified_name };
}

/** Lists of agents are not waited for as long as others. */
function bounded({ index, wait }: BlockingRead): BlockingRead {
  const ms = wait === undefined ? undefined : parseDuration(wait);
  return { index, wait: ms !== undefined && ms > parseDuration(MAX_WAIT)! ? MAX_WAIT : wait };
}
