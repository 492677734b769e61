import type { AgentConfig } from '../../files/composition/city-config.js';
import { membersOf, sizeOf, type Member } from './agent-members.js';

/** An open session of an agent, as far as lists and counts of agents need it. */
export interface Bearer {
  /** The name under which it works. */
  readonly name: string;
  /** Its agent, qualified. */
  readonly agent: string;
  /** Its place in the pool; null for one that was made by hand or has a name of its own. */
  readonly slot: number | null;
  readonly live: boolean;
}

/**
 * The lines of an agent in a list: as the files have it, then whoever works under a name that they do not foresee, members
 * above a bound that was lowered, for instance. Lazily: see `membersOf`. `own` are sessions of this agent.
 */
export function* linesOf(agent: AgentConfig, own: readonly Bearer[]): Generator<Member> {
  yield* membersOf(agent);
  const { qualified_name: pool } = agent;
  if (sizeOf(agent) !== undefined && own.some(byHand)) yield { name: pool, agent };
  for (const { name } of beyond(agent, own)) yield { name, agent, pool };
}

/** How many places an agent has, and in how many of them somebody runs; a pool without a bound has those that are taken. */
export function placesOf(agent: AgentConfig, own: readonly Bearer[]): { readonly total: number; readonly running: number } {
  const running = new Set(own.filter(({ live }) => live).map(({ name, slot }) => (slot === null ? agent.qualified_name : name)));
  const more = beyond(agent, own).length;
  const bound = sizeOf(agent);
  const hand = own.some(byHand) ? 1 : 0;
  return { total: bound === undefined ? Math.max(1, more + hand) : bound + more + hand, running: running.size };
}

function byHand({ slot, live }: Bearer): boolean {
  return slot === null && live;
}

function beyond(agent: AgentConfig, own: readonly Bearer[]): Bearer[] {
  const bound = sizeOf(agent) ?? 0;
  return own.filter(({ slot }) => slot !== null && slot > bound).sort((a, b) => a.slot! - b.slot!);
}
