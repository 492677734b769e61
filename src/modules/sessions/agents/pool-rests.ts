import { poolRestsUntil } from '../session-store/session-rest.js';
import type { AgentSession } from './agents.repository.js';
import type { AgentRest } from './agents.schemas.js';

/** Pools of which nobody more is started for now, because members of them could not be: by their agents' names. */
export function poolRestsOf(sessions: readonly AgentSession[]): Map<string, AgentRest> {
  const pools = Map.groupBy(
    sessions.filter(({ origin }) => origin === 'pool'),
    ({ agent }) => agent,
  );
  return new Map([...pools].flatMap(([agent, members]) => restOfPool(members).map((rest) => [agent, rest] as const)));
}

function restOfPool(members: readonly AgentSession[]): AgentRest[] {
  const failed = members.filter(({ state }) => state === 'failed-create').sort((a, b) => b.state_at.getTime() - a.state_at.getTime());
  const [last] = failed;
  const seats = members.map(({ state, state_at, ready_at }) => ({
    failedAt: state === 'failed-create' ? state_at.getTime() : undefined,
    readyAt: ready_at?.getTime(),
  }));
  const until = poolRestsUntil(seats);
  if (last === undefined || until === undefined || until <= last.now.getTime()) return [];
  const detail = `${last.name} could not be started${last.failure === null ? '' : `: ${last.failure}`}`;
  return [{ reason: 'pool-failing', ended_by: ['time', 'configuration'], until: new Date(until).toISOString(), detail }];
}
