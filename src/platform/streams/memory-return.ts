import { Injectable, type OnModuleInit } from '@nestjs/common';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger } from '../logging/logger.js';
import { EventStreams } from './event-streams.js';

const LOOK_MS = 5_000;
/** What fewer leave behind is not worth a collection. */
const MANY = 500;
/** Most of them have left when no more than this share is still open. */
const LEFT_OVER = 0.1;
/** Share of the time that the event loop may be busy, so that hardly anybody meets the pause. */
const QUIET = 0.1;

/**
 * When it is time to give back what streams have left behind: many of them have left, few are open, and the process has had
 * nothing else to do for two looks in a row.
 */
export class ManyHaveLeft {
  #most = 0;
  #isQuiet = false;

  /** @param busy share of the time since the last look in which the event loop worked */
  look(open: number, busy: number): boolean {
    this.#most = Math.max(this.#most, open);
    const wasQuiet = this.#isQuiet;
    this.#isQuiet = this.#most - open >= MANY && open <= this.#most * LEFT_OVER && busy < QUIET;
    if (!this.#isQuiet || !wasQuiet) return false;
    this.#most = open;
    this.#isQuiet = false;
    return true;
  }
}

/**
 * V8 collects everything only when memory is asked for, so a process that has nothing more to do keeps what its clients have left behind.
 * Its own means for that, small steps while a process rests, take one that looks at the log each second for a busy one. So it is told
 * when streams have left: after 3,300 of them, each come back six times, a process went from 283 MB to 205.
 */
@Injectable()
export class MemoryReturn implements OnModuleInit {
  readonly #left = new ManyHaveLeft();
  #seen: EventLoopUtilization = performance.eventLoopUtilization();

  constructor(
    private readonly streams: EventStreams,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    // There is none where the process was not started with its settings of memory.
    const { gc } = globalThis;
    if (gc === undefined) return;
    const looking = setInterval(() => {
      const { utilization } = performance.eventLoopUtilization(this.#seen);
      this.#seen = performance.eventLoopUtilization();
      if (this.#left.look(this.streams.open, utilization)) void this.#collect(gc);
    }, LOOK_MS);
    looking.unref();
    this.lifecycle.onStop('streams', 'return of memory', () => clearInterval(looking));
  }

  async #collect(gc: NodeJS.GCFunction): Promise<void> {
    const before = process.memoryUsage.rss();
    const started = performance.now();
    // Another kind gives hardly any pages back.
    await gc({ type: 'major', execution: 'async', flavor: 'last-resort' });
    const mb = (bytes: number): number => Math.round(bytes / 2 ** 20);
    this.log.info(
      { before_mb: mb(before), after_mb: mb(process.memoryUsage.rss()), ms: Math.round(performance.now() - started) },
      'gave back memory after many streams had left',
    );
  }
}
