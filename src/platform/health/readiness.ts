import { Injectable } from '@nestjs/common';
import { AppLogger } from '../logging/logger.js';
import type { Metrics } from './metrics.js';

/** Answers undefined when the part works, otherwise what is wrong with it, in words for an operator. */
export type ReadinessCheck = () => Promise<string | undefined> | string | undefined;

/** Milliseconds; a check that takes longer counts as failed. */
export const LIMIT_MS = 2_000;

/** The part that fails while the process stops in order, which is no outage. */
export const STOPPING = 'lifecycle';

/** Every room registers its check here; the orchestrator's probe asks them all. */
@Injectable()
export class Readiness {
  readonly #checks = new Map<string, ReadinessCheck>();
  readonly #failing = new Set<string>();
  #looking: Promise<Record<string, string>> | undefined;

  constructor(private readonly log: AppLogger) {}

  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /** What is wrong, by part; an empty object means ready. Who asks meanwhile is answered the same: anybody may ask, and checks ask the database. */
  failures(): Promise<Record<string, string>> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    await Promise.all(
      [...this.#checks].map(async ([name, check]) => {
        const why = await this.#ask(name, check);
        if (why !== undefined) found[name] = why;
        else if (this.#failing.delete(name)) this.log.info({ part: name }, `${name}: works again`);
      }),
    );
    return found;
  }

  /** Once until it works again: in the log of an outage one line has to say what it is. */
  #tell(part: string, why: string): void {
    if (this.#failing.has(part) || part === STOPPING) return;
    this.#failing.add(part);
    this.log.warn({ part, why }, `${part}: does not work, so this process is not ready: ${why}`);
  }

  get names(): string[] {
    return [...this.#checks.keys()].sort();
  }

  async #ask(name: string, check: ReadinessCheck): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => (timer = setTimeout(() => resolve(`no answer within ${LIMIT_MS} ms`), LIMIT_MS)));
    try {
      const why = await Promise.race([Promise.resolve(check()), late]);
      if (why !== undefined) this.#tell(name, why);
      return why;
    } catch (error) {
      this.#tell(name, error instanceof Error ? error.message : String(error));
      return 'the check failed, its log says why'; // the probe is open to everybody: what the error says belongs into the log
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What the probe answers, for whoever scrapes instead. */
export function measureReadiness(readiness: Readiness, metrics: Metrics): void {
  const ready = metrics.gauge({
    name: 'svc_ready',
    help: 'Whether this process can serve, as /ready says.',
    collect: async (): Promise<void> => ready.set(Object.keys(await readiness.failures()).length === 0 ? 1 : 0),
  });
}
