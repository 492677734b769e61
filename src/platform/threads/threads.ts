import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { AppLogger } from '../logging/logger.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Budget, NoTurn, type Share } from '../turns/budget.js';
import type { Answerers } from './protocol.js';
import type { Task } from './task.js';
import { isNotStarted, Thread, TooDear, TooLate, type ThreadLimits } from './thread.js';

/**
 * What costs no more than this is done where it is asked for, in characters of TOML of which everything is changed: the dearest of
 * all that is done with files. Measured on one core: 5 µs for such a character, so 20 ms at the most; a third of a millisecond to
 * ask a thread that runs already, and 150 to start one.
 */
export const INLINE_COST = 4 * 1024;

const NOTHING_TO_ASK = (): never => {
  throw new Error('a task that asks its process runs in a thread');
};

/**
 * How many threads a process has, and what they may take; tests give other ones. Measured on one core: the dearest city that is
 * accepted takes 1 s and 110 MiB, one of 9,000 agents 5 s, the dearest edit 2 s.
 */
export class ThreadOptions implements ThreadLimits {
  readonly count: number;
  readonly busyMs: number;
  readonly wallMs: number;
  readonly heapMiB: number;
  /** How many tasks of one owner may wait, and for how long. */
  readonly waiting: number;
  readonly waitMs: number;
  /** A thread that nobody needed for so long is ended: it gives back what it holds. */
  readonly idleMs: number;
  /** Characters of texts that are held at a time for what is done with them: they are in memory several times meanwhile. */
  readonly held: number;

  constructor(given: Partial<ThreadOptions> = {}) {
    this.count = given.count ?? 2;
    this.busyMs = given.busyMs ?? 20_000;
    this.wallMs = given.wallMs ?? 60_000;
    this.heapMiB = given.heapMiB ?? 128;
    this.waiting = given.waiting ?? 32;
    this.waitMs = given.waitMs ?? 30_000;
    this.idleMs = given.idleMs ?? 60_000;
    this.held = given.held ?? 12 * 1024 * 1024;
  }
}

export interface ThreadRequest<I, O> {
  readonly task: Task<I, O>;
  /** Whose work it is: owners take turns. */
  readonly owner: string;
  readonly input: I;
  /** What the task may ask for. */
  readonly answerers?: Answerers;
}

/**
 * Work that may take long, off the event loop: in threads that are ended when it takes too much. They are started when there
 * is something to do.
 */
@Injectable()
export class Threads {
  readonly #places: Budget;
  readonly #texts: Budget;
  /** Those that have nothing to do; what was used last comes first, so that the others end. */
  readonly #idle: { readonly thread: Thread; readonly timer: NodeJS.Timeout }[] = [];
  readonly #all = new Set<Thread>();
  #stopped = false;

  constructor(
    private readonly options: ThreadOptions,
    private readonly log?: Pick<AppLogger, 'warn'>,
    lifecycle?: Pick<Lifecycle, 'onStop'>,
  ) {
    this.#places = new Budget(options.count, options.waiting, options.waitMs);
    this.#texts = new Budget(options.held, options.waiting, options.waitMs);
    lifecycle?.onStop('background', 'threads', () => this.stop());
  }

  /**
   * Runs a task in a thread, after those of others whose turn comes first.
   *
   * @throws TooDear when it was ended for what it took, ProblemError unavailable when it could not be begun or had to wait
   * for too long, what an answerer throws; an Error for a bug: another thread takes the place of one that has died.
   */
  async run<I, O>({ task, owner, input, answerers = {} }: ThreadRequest<I, O>): Promise<O> {
    const place = await this.#places.take(owner).catch(inFront);
    let thread: Thread | undefined;
    try {
      thread = this.#take();
      return await thread.run(task, input, answerers);
    } catch (error) {
      if (error instanceof TooDear) this.log?.warn({ owner, task: task.name, what: error.what }, 'a task took too much and was ended');
      if (error instanceof TooLate) throw problem('unavailable', `${error.message}; try again`, { cause: error });
      if (!isNotStarted(error)) throw error;
      this.log?.warn({ owner, task: task.name, err: error }, 'a thread could not be started');
      throw problem('unavailable', 'no thread could be started; try again', { cause: error });
    } finally {
      if (thread !== undefined) this.#put(thread);
      place.giveBack();
    }
  }

  /** As `run`; here and at once when it costs little, in the units of `INLINE_COST`. */
  async runOrDo<I, O>(request: ThreadRequest<I, O>, cost: number): Promise<O> {
    return cost > INLINE_COST ? this.run(request) : request.task.work(request.input, NOTHING_TO_ASK);
  }

  /**
   * Waits until so many characters may be in memory for this owner: whoever has large texts made, or reads them, holds a share until it
   * needs them no more. Nobody asks for one in a transaction, or for a second one.
   *
   * @throws ProblemError unavailable when that takes too long
   */
  hold(owner: string, characters: number): Promise<Share> {
    return this.#texts.take(owner, characters).catch(inFront);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    await Promise.all([...this.#all].map((thread) => thread.end()));
    this.#all.clear();
  }

  #take(): Thread {
    if (this.#stopped) throw problem('unavailable', 'the process is stopping');
    const found = this.#idle.shift();
    clearTimeout(found?.timer);
    if (found?.thread.isUsable === true) return found.thread;
    const thread = new Thread(this.options);
    this.#all.add(thread);
    return thread;
  }

  #put(thread: Thread): void {
    if (!thread.isUsable) {
      this.#all.delete(thread);
      void thread.end();
      return;
    }
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((idle) => idle.thread === thread),
        1,
      );
      this.#all.delete(thread);
      void thread.end();
    }, this.options.idleMs).unref();
    this.#idle.unshift({ thread, timer });
  }
}

function inFront(error: unknown): never {
  throw error instanceof NoTurn ? problem('unavailable', 'other work is in front of this; try again', { cause: error }) : error;
}
