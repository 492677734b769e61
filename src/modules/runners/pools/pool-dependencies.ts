import type { PoolFacts, PoolSession } from './pool-facts.js';

/** Which agents run, and which ones have to because others depend on them. */
export class Dependencies {
  readonly #running: ReadonlySet<string>;
  /** Since when, at the latest. */
  readonly #needed = new Map<string, number>();
  readonly #needs: ReadonlyMap<string, readonly string[]>;

  constructor({ agents, sessions }: Pick<PoolFacts, 'agents' | 'sessions'>) {
    this.#needs = new Map(agents.map(({ name, needs }) => [name, needs]));
    this.#running = new Set(sessions.filter(runs).flatMap(({ agent }) => agent ?? []));
    for (const session of sessions) if (session.agent !== null && isWanted(session)) this.need(session.agent, session.stateAt);
  }

  /** Agents that this one depends on and that do not run. */
  missing(agent: string): string[] {
    return (this.#needs.get(agent) ?? []).filter((name) => !this.#running.has(name));
  }

  /** A session of the agent runs or is to, since then: those that it depends on are kept, and theirs. */
  need(agent: string, since = -Infinity): void {
    const from = [agent];
    for (let next = from.pop(); next !== undefined; next = from.pop())
      for (const name of this.#needs.get(next) ?? []) {
        const known = this.#needed.get(name);
        if (known !== undefined && known >= since) continue;
        this.#needed.set(name, since);
        from.push(name);
      }
  }

  /** Whether one of its sessions has to be there for others. */
  isNeeded(agent: string): boolean {
    return this.#needed.has(agent);
  }

  /** When the newest of what it has to be there for came up; nothing tells that of a minimum or of `scale_check`. */
  neededSince(agent: string): number {
    return this.#needed.get(agent) ?? -Infinity;
  }
}

function runs({ state, live, stop }: PoolSession): boolean {
  return state === 'active' && live && stop === null;
}

function isWanted({ state, wake, stop }: PoolSession): boolean {
  return (
    stop === null && (state === 'active' || state === 'creating' || state === 'start-pending' || (state === 'asleep' && wake !== null))
  );
}
