import type { ProblemError } from '../../../contract/problems.js';
import type { AppLogger } from '../../../platform/logging/logger.js';
import type { PoolDecision } from './pool-facts.js';

/** Those that are known, by whose they are: more are not told of loudly until one of these is over. */
const KEPT = 1_000;
/** What is refused for so long is told of again. */
const AGAIN_MS = 3_600_000;

type Start = PoolDecision & { do: 'create' | 'materialize' };

interface Told {
  readonly why: string;
  readonly at: number;
}

/** Sessions that could not be made: each is tried again in every look, and told of loudly once an hour for each reason. */
export class RefusedStarts {
  readonly #known = new Map<string, Told>();

  tell(log: AppLogger, city: string, decision: Start, err: ProblemError): void {
    log[this.level(city, nameOf(decision), err.message)]({ err, city, decision }, 'a session could not be made');
  }

  /** It was made: whatever refuses the next one is news. */
  made(city: string, decision: Start): void {
    this.forget(city, nameOf(decision));
  }

  forget(city: string, name: string): void {
    this.#known.delete(keyOf(city, name));
  }

  /** How loud to be about one. */
  level(city: string, name: string, why: string, now = Date.now()): 'warn' | 'debug' {
    const key = keyOf(city, name);
    const known = this.#known.get(key);
    if (known?.why === why && now - known.at < AGAIN_MS) return 'debug';
    this.#known.delete(key);
    if (this.#known.size >= KEPT) {
      const [first, { at }] = this.#known.entries().next().value!;
      if (now - at < AGAIN_MS) return 'debug';
      this.#known.delete(first);
    }
    this.#known.set(key, { why, at: now });
    return 'warn';
  }
}

function keyOf(city: string, name: string): string {
  return JSON.stringify([city, name]);
}

function nameOf(decision: Start): string {
  return decision.do === 'create' ? decision.name : decision.identity;
}
