import type { SessionRow } from '../session-store/session-row.js';

/** The name under which a session works: claims, assignments, mail and the actor of its events. Without an agent it is its id. */
export function actingName({ agent_name, agent, id }: Pick<SessionRow, 'agent_name' | 'agent' | 'id'>): string {
  return agent_name ?? agent ?? id;
}
