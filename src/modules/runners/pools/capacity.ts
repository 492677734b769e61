import type { SessionState } from '../../sessions/session-store/session-states.js';
import type { PoolAgent, PoolFacts, PoolSession } from './pool-facts.js';

/** States that count against limits of sessions at once: they have a process, had one a moment ago, or will have. */
const COUNTED: readonly SessionState[] = ['start-pending', 'creating', 'active', 'draining', 'quarantined'];

/** Whether it takes a place: it has a process, had one a moment ago, or is going to have one. */
export function isCounted({ state, wake, hasRunner }: Pick<PoolSession, 'state' | 'wake' | 'hasRunner'>): boolean {
  return hasRunner || COUNTED.includes(state) || (state === 'asleep' && wake !== null);
}

/** How many more sessions may be started: by their agent, its rig, the whole city, and in one pass. */
export class Capacity {
  readonly #agents = new Map<string, number>();
  readonly #rigs = new Map<string, number>();
  #city = 0;
  #starts = 0;
  /** Something was left out for this pass alone. */
  cut = false;

  constructor(private readonly facts: PoolFacts) {
    for (const session of facts.sessions) if (isCounted(session)) this.#count(session.agent, session.rig);
  }

  of(agent: string): number {
    return this.#agents.get(agent) ?? 0;
  }

  /** Takes a place for one more session of the agent; false when there is none. */
  take(agent: PoolAgent | undefined, rig: string): boolean {
    const { maxSessions, maxOfRig, startsAPass } = this.facts.settings;
    if (agent?.settings.max !== undefined && this.of(agent.name) >= agent.settings.max) return false;
    const limit = rig === '' ? undefined : maxOfRig.get(rig);
    if (limit !== undefined && (this.#rigs.get(rig) ?? 0) >= limit) return false;
    if (maxSessions !== undefined && this.#city >= maxSessions) return false;
    if (this.#starts >= startsAPass) {
      this.cut = true;
      return false;
    }
    this.#starts++;
    this.#count(agent?.name ?? null, rig);
    return true;
  }

  #count(agent: string | null, rig: string): void {
    this.#city++;
    if (agent !== null) this.#agents.set(agent, this.of(agent) + 1);
    if (rig !== '') this.#rigs.set(rig, (this.#rigs.get(rig) ?? 0) + 1);
  }
}
