import { Injectable } from '@nestjs/common';
import { AppLogger } from '../logging/logger.js';

/** The order of an orderly stop. Each phase finishes, or runs into its limit, before the next one begins. */
const SHUTDOWN_PHASES = [
  'unready',
  'accept',
  'streams',
  'requests',
  'worker',
  'queue',
  'background',
  'listener',
  'pool',
  'server',
] as const;
export type ShutdownPhase = (typeof SHUTDOWN_PHASES)[number];

const PHASE_LIMIT_MS = 3_000;

interface Step {
  readonly phase: ShutdownPhase;
  readonly name: string;
  readonly stop: () => Promise<void> | void;
  readonly limitMs: number;
}

/** Rooms register what they have to stop; the entry calls `stop` once. Nest's own hooks are not used: they have no order. */
@Injectable()
export class Lifecycle {
  readonly #steps: Step[] = [];
  #stopping: Promise<void> | undefined;

  constructor(private readonly log: AppLogger) {}

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** `limitMs` is for what legitimately takes longer than the moment that others get; it counts into `extraMs`. */
  onStop(
    phase: ShutdownPhase,
    name: string,
    stop: () => Promise<void> | void,
    { limitMs = PHASE_LIMIT_MS }: { readonly limitMs?: number } = {},
  ): void {
    this.#steps.push({ phase, name, stop, limitMs });
  }

  /** Milliseconds by which steps may exceed the usual limit: what an orderly stop may take longer than usual. */
  get extraMs(): number {
    return Math.max(0, ...this.#steps.map(({ limitMs }) => limitMs - PHASE_LIMIT_MS));
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#run());
  }

  async #run(): Promise<void> {
    for (const phase of SHUTDOWN_PHASES) {
      const steps = this.#steps.filter((s) => s.phase === phase);
      await Promise.all(steps.map((s) => this.#step(s)));
    }
  }

  async #step({ name, stop, limitMs }: Step): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), limitMs)));
    try {
      const how = await Promise.race([Promise.resolve(stop()), limit]);
      if (how === 'late') this.log.warn({ step: name }, 'a shutdown step ran into its limit');
    } catch (error) {
      this.log.warn({ err: error, step: name }, 'a shutdown step failed');
    } finally {
      clearTimeout(timer);
    }
  }
}
