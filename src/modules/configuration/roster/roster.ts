/** What a city's files say about whom and what it consists of; recorded when the city comes up. */
export interface Roster {
  readonly rigs: readonly RosterRig[];
  readonly agents: readonly RosterAgent[];
}

export interface RosterRig {
  /** Empty for the city itself. */
  readonly name: string;
  /** The id prefix that the files ask for; without one it is derived from `derivedPrefix`. */
  readonly prefix: string | undefined;
  readonly derivedPrefix: string;
  /** Whether it is suspended as long as nobody has switched it; the city's own is what its row says. */
  readonly suspendedOnStart: boolean;
}

export interface RosterAgent {
  /** Qualified: `rig/base`, or the bare name for an agent of the city. */
  readonly name: string;
  readonly base: string;
  readonly rig: string;
  readonly kind: 'agent' | 'named_session';
  /** Whether a session of its own bears the name, also when it is that of an agent. */
  readonly named: boolean;
}
