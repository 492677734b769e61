import type { ProblemError } from '../../../contract/problems.js';
import type { AppLogger } from '../../../platform/logging/logger.js';
import type { PoolDecision } from './pool-facts.js';

/** Those that are known, by whose they are: more are told of again. */
const KEPT = 1_000;

/** Sessions that could not be made: each is tried again in every look, and told of loudly once for each reason. */
export class RefusedStarts {
  readonly #known = new Map<string, string>();

  tell(log: AppLogger, city: string, decision: PoolDecision & { do: 'create' | 'materialize' }, err: ProblemError): void {
    const name = decision.do === 'create' ? decision.name : decision.identity;
    log[this.level(city, name, err.message)]({ err, city, decision }, 'a session could not be made');
  }

  /** How loud to be about one. */
  level(city: string, name: string, why: string): 'warn' | 'debug' {
    const key = JSON.stringify([city, name]);
    if (this.#known.get(key) === why) return 'debug';
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(key, why);
    return 'warn';
  }
}
