import { problem } from '../../../contract/problems.js';
import type { AgentConfig } from '../../files/composition/city-config.js';
import type { Member } from './agent-members.js';

export function agentNotFound(dir: string, base: string): Error {
  return problem('agent_not_found', `agent ${dir === '' ? base : `${dir}/${base}`} not found`);
}

/** The agent itself: what is changed is changed for a whole pool. @throws ProblemError wrong_state for a member */
export function wholeAgent({ name, agent, pool }: Member): AgentConfig {
  if (pool === undefined) return agent;
  throw problem('wrong_state', `${name} is a member of the pool ${pool}; only the pool can be changed`);
}

/** Whether the city's own files do not define it. */
export function isForeign({ origin }: AgentConfig): boolean {
  return origin === 'pack' || origin === 'implicit';
}

/** @throws ProblemError wrong_state for an agent that the city's own files do not define */
export function requireOwn({ qualified_name: name, origin, pack, provider }: AgentConfig): void {
  if (origin === 'pack')
    throw problem(
      'wrong_state',
      `agent ${name} is pack-derived, from ${pack ?? 'an import'}: change it by a patch of the city (?patch=true, or PUT patches/agents)`,
    );
  if (origin === 'implicit')
    throw problem(
      'wrong_state',
      `agent ${name} is there because the city has the provider ${provider}: change it by a patch of the city (?patch=true, or PUT patches/agents)`,
    );
}
