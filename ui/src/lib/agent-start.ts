interface Agent {
  readonly name: string;
  readonly pool?: string | undefined;
}

/** Of what a session is that somebody begins by hand: it is none of the members of a pool, but one more of the pool. */
export const startOf = ({ name, pool }: Agent): string => pool ?? name;

export const startWords = ({ pool }: Pick<Agent, 'pool'>): string => (pool === undefined ? 'New session' : 'New session of the pool');

/** Of what sessions can be begun: a pool stands there once for all its members. */
export const startable = (agents: readonly Agent[]): readonly string[] => [...new Set(agents.map(startOf))];
