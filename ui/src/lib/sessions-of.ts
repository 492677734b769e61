import type { Schemas, Session } from '../api/types.js';

type Agent = Pick<Schemas['AgentResponse'], 'name' | 'pool' | 'session'>;
type One = Pick<Session, 'alias' | 'session_name'>;

/** Of the sessions of an agent, or of a pool, those of one member: they have its name, or are the one that it has now under another. */
export function sessionsOfAgent<T extends One>(sessions: readonly T[], { name, pool, session }: Agent): readonly T[] {
  if (pool === undefined) return sessions;
  return sessions.filter(({ alias, session_name: own }) => alias === name || own === session?.name);
}
