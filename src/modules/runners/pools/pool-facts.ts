import type { EmptyFor, EndedRuns } from '../../sessions/session-store/empty-runs.js';
import type { SessionState, StopRequest, WakeRequest } from '../../sessions/session-store/session-states.js';
import type { AgentSettings, PoolSettings } from '../../sessions/session-store/settings.js';

/** All that decides what a city's sessions should do. Times are milliseconds of the database's clock. */
export interface PoolFacts {
  readonly now: number;
  /** `running`: as it should; `stopped`: its sessions are to stop; `gone`: it is registered no longer. */
  readonly city: 'running' | 'stopped' | 'gone';
  readonly settings: PoolSettings;
  readonly agents: readonly PoolAgent[];
  /** Names of the agents of whose pools a name may be a member, in the order of `agents`. */
  readonly poolsOf: (name: string) => readonly string[];
  readonly named: readonly PoolNamed[];
  /** When an idle session of a bare provider sleeps. */
  readonly providerIdleMs: number | undefined;
  /** Why sessions of nobody's agent may not run in a rig ('' for the city). */
  readonly blocked: (rig: string) => string | undefined;
  /** Everything that is not closed, by pk. */
  readonly sessions: readonly PoolSession[];
  /** What nobody has taken, oldest first, by route: an agent, a member of its pool, or a named session. */
  readonly offered: ReadonlyMap<string, readonly OfferedBead[]>;
  /** Open work that is assigned and can be begun, the most urgent first, by the name that it is assigned to. */
  readonly assigned: ReadonlyMap<string, readonly OfferedBead[]>;
  /**
   * What the agents' `scale_check` said, by agent; undefined: nobody knows at the moment. No session is begun for such a one, and none taken
   * back; what has nothing to do goes as always, which no number of it would keep.
   */
  readonly scale: ReadonlyMap<string, number | undefined>;
  /** Sessions that ended in the last hour without any of the work that there was, by its route. */
  readonly emptyRuns: EndedRuns['emptyRuns'];
  /** Those that ended by themselves with nothing to do, by agent, of agents that are to have somebody whether there is work or not. */
  readonly idleRuns: EndedRuns['idleRuns'];
}

export interface OfferedBead {
  readonly id: string;
  /** When it was changed last, or made. */
  readonly at: number;
}

export interface PoolAgent {
  /** Qualified. */
  readonly name: string;
  readonly rig: string;
  readonly settings: AgentSettings;
  /** Qualified names of the agents that have to run before a session of it is started. */
  readonly needs: readonly string[];
  /** The name of a member of its pool, by slot from 1. */
  readonly member: (slot: number) => string;
  /** The slot of a member's name. */
  readonly slotOf: (name: string) => number | undefined;
  /** Why none of its sessions may run. */
  readonly blocked?: string | undefined;
  /** Whether a session of it can be made at all: what cannot takes no place in a pass from others. */
  readonly startable: () => boolean;
}

export interface PoolNamed {
  /** Qualified. */
  readonly identity: string;
  readonly mode: 'on_demand' | 'always';
  /** Qualified name of its agent; undefined when there is none. */
  readonly agent: string | undefined;
  readonly settings?: AgentSettings | undefined;
}

export interface PoolSession {
  readonly pk: number;
  readonly id: string;
  readonly origin: 'manual' | 'named' | 'pool';
  /** Qualified; null for a bare provider's. */
  readonly agent: string | null;
  readonly agentName: string | null;
  readonly slot: number | null;
  readonly rig: string;
  readonly identity: string | null;
  readonly sessionName: string;
  readonly alias: string;
  readonly state: SessionState;
  readonly stateAt: number;
  readonly reason: string | null;
  readonly generation: number;
  /** A runner may have a process of it. */
  readonly hasRunner: boolean;
  /** That runner is fenced or was never there. */
  readonly runnerGone: boolean;
  readonly live: boolean;
  readonly inTurn: boolean;
  readonly activityAt: number;
  readonly outputAt: number | undefined;
  readonly readyAt: number | undefined;
  readonly wokeAt: number | undefined;
  readonly wake: WakeRequest | null;
  readonly stop: StopRequest | null;
  readonly stopReason: string | null;
  readonly stopAt: number | undefined;
  readonly startDeadline: number | undefined;
  readonly notBefore: number | undefined;
  readonly heldUntil: number | undefined;
  readonly quarantinedUntil: number | undefined;
  /** What its last start was made from is not what the configuration says now. */
  readonly mended: boolean;
  /** How often it was woken in a row without anything coming of it. */
  readonly churns: number;
  /** It asks a person something. */
  readonly asks: boolean;
  /** Messages that wait or are being delivered. */
  readonly messages: number;
  /** Begun work that it holds. */
  readonly held: readonly string[];
  /** It has held some since it was made. */
  readonly everHeld: boolean;
  /** It waits for beads to be closed. */
  readonly waits: boolean;
  readonly pinned: boolean;
  /** It has asked for its drain itself. */
  readonly drainedItself: boolean;
  /** What it was started with is not what the configuration says now, and nobody has accepted that. */
  readonly drifted: boolean;
  readonly acceptedHash: string | null;
  /** When it was told last that there is work, in ms since 1970, by the first bead that it was told of. */
  readonly nudges: Readonly<Record<string, number>>;
  /** How often within an hour. */
  readonly nudged: Readonly<Record<string, number>>;
  readonly toldStranded: boolean;
  readonly toldResetStalled: boolean;
}

/** Why the pools end a session. */
export type Ending = 'drained' | 'orphaned' | 'reconfigured' | 'suspended' | 'failed-create' | 'city-gone';

export type PoolDecision =
  | {
      readonly do: 'create';
      readonly agent: string;
      readonly slot: number | null;
      readonly name: string;
      readonly why: WakeRequest;
      readonly bead?: string;
    }
  | { readonly do: 'materialize'; readonly identity: string; readonly why: WakeRequest; readonly bead?: string }
  | { readonly do: 'wake'; readonly pk: number; readonly why: WakeRequest; readonly beads?: readonly string[] }
  | { readonly do: 'nudge'; readonly pk: number; readonly beads: readonly string[] }
  | { readonly do: 'sleep'; readonly pk: number; readonly reason: string }
  | { readonly do: 'kill'; readonly pk: number; readonly reason: string }
  | {
      readonly do: 'drain';
      readonly pk: number;
      readonly reason: string;
      readonly ms: number;
      readonly wake?: WakeRequest;
      readonly empty?: readonly EmptyFor[];
    }
  | { readonly do: 'undrain'; readonly pk: number }
  /** Somebody has asked for the next one of its name, which it is itself again: it runs. */
  | { readonly do: 'granted'; readonly pk: number }
  | {
      readonly do: 'close';
      readonly pk: number;
      readonly code: Ending;
      readonly empty?: readonly EmptyFor[];
    }
  | { readonly do: 'unquarantine'; readonly pk: number }
  /** The configuration says another thing about its start than when that failed: it rests no longer. */
  | { readonly do: 'mended'; readonly pk: number }
  /** It could not be started, and something waits for it: it may be tried once more. */
  | { readonly do: 'retry'; readonly pk: number }
  | { readonly do: 'lost-start'; readonly pk: number }
  | { readonly do: 'tell'; readonly pk: number; readonly what: 'stranded' | 'found' | 'reset-stalled' };

export interface PoolPlan {
  readonly decisions: readonly PoolDecision[];
  /** When something is due that nobody tells; undefined: nothing is. */
  readonly nextAt: number | undefined;
}
