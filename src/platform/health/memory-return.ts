import { Injectable, type OnModuleInit } from '@nestjs/common';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { AppLogger } from '../logging/logger.js';
import { Lifecycle } from './lifecycle.js';

const LOOK_MS = 5_000;
/** Looks of a minute, without anything to do. */
const RESTED = 12;
/** Looks of ten minutes. */
const MOST_OFTEN = 120;
const MB = 2 ** 20;
/** Less is not worth a collection. */
const MUCH = 64 * MB;
/** Share of the time that the event loop may be busy, so that hardly anybody meets the pause. */
export const QUIET = 0.1;

/** What a look at a process finds. */
export interface MemoryLook {
  /** Bytes that are resident. */
  readonly rss: number;
  /** Share of the time since the last look in which the event loop worked. */
  readonly busy: number;
}

/** Says at a look that much may be garbage by now. */
export interface MemoryReason {
  /** For the log: `after many streams had left`. */
  readonly why: string;
  look(look: MemoryLook): boolean;
}

/**
 * A process that has taken more memory than it had once, and has had nothing to do for a minute. Once in ten minutes, as it has its price: V8 drops the code
 * that it has compiled, too. Whoever comes next waits up to half a second, and the process works at half its speed for three.
 */
export class MuchWasTaken implements MemoryReason {
  readonly why = 'after much was done';
  #quietLooks = 0;
  #looksSince = MOST_OFTEN;

  /** @param least what the process has had at the least until now: its start is work too */
  constructor(private least: number) {}

  look({ rss, busy }: MemoryLook): boolean {
    this.least = Math.min(this.least, rss);
    this.#looksSince++;
    this.#quietLooks = busy < QUIET ? this.#quietLooks + 1 : 0;
    return this.#quietLooks >= RESTED && this.#looksSince >= MOST_OFTEN && rss - this.least >= MUCH;
  }

  /** What is there after a collection is in use. */
  collected(rss: number): void {
    this.least = rss;
    this.#quietLooks = 0;
    this.#looksSince = 0;
  }
}

/** Undefined where that cannot be told: who asks opens a file, and a process may have no file descriptor left. */
function resident(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/**
 * V8 collects everything only when memory is asked for, so a process that has nothing more to do keeps what its work has left behind. Its own
 * means for that, small steps while a process rests, take one that looks at the log each second for a busy one. So it is told.
 */
@Injectable()
export class MemoryReturn implements OnModuleInit {
  readonly #taken = new MuchWasTaken(resident() ?? Infinity);
  readonly #reasons: MemoryReason[] = [this.#taken];
  #seen: EventLoopUtilization = performance.eventLoopUtilization();
  #isCollecting = false;

  constructor(
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** Memory is given back for this reason too. */
  also(reason: MemoryReason): void {
    this.#reasons.push(reason);
  }

  onModuleInit(): void {
    // There is none where the process was not started with its settings of memory.
    const { gc } = globalThis;
    if (gc === undefined) return;
    const looking = setInterval(() => this.#look(gc), LOOK_MS);
    looking.unref();
    this.lifecycle.onStop('background', 'return of memory', () => clearInterval(looking));
  }

  #look(gc: NodeJS.GCFunction): void {
    const rss = resident();
    if (rss === undefined) return;
    const { utilization: busy } = performance.eventLoopUtilization(this.#seen);
    this.#seen = performance.eventLoopUtilization();
    const look = { rss, busy };
    // Each of them keeps account of every look.
    const [reason] = this.#reasons.filter((each) => each.look(look));
    if (reason !== undefined && !this.#isCollecting) void this.#collect(gc, reason.why, rss);
  }

  async #collect(gc: NodeJS.GCFunction, why: string, before: number): Promise<void> {
    this.#isCollecting = true;
    try {
      const started = performance.now();
      // Another kind gives hardly any pages back.
      await gc({ type: 'major', execution: 'async', flavor: 'last-resort' });
      const after = resident() ?? before;
      this.#taken.collected(after);
      const mb = (bytes: number): number => Math.round(bytes / MB);
      this.log.info({ before_mb: mb(before), after_mb: mb(after), ms: Math.round(performance.now() - started) }, `gave back memory ${why}`);
    } catch (error) {
      this.log.warn({ err: error }, `could not give back memory ${why}`);
    } finally {
      this.#isCollecting = false;
    }
  }
}
