import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Answerers, Call, FromThread, ToThread } from './protocol.js';
import type { Task } from './task.js';

/** What one task may take. */
export interface ThreadLimits {
  /** Milliseconds in which the thread itself works; what it waits for meanwhile does not count. */
  readonly busyMs: number;
  /** Milliseconds altogether, the start of the thread included. */
  readonly wallMs: number;
  /** MiB of the thread's heap. */
  readonly heapMiB: number;
}

/** A task was ended because it took too much; the thread is gone with everything it held. */
export class TooDear extends Error {
  constructor(
    readonly what: 'time' | 'memory',
    message: string,
  ) {
    super(message);
    this.name = 'TooDear';
  }
}

/** A task was ended while it waited for its process, the disk or the start of its thread: another time it may succeed. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** Whether Node had no thread for it: the host is at its limit of processes, or has no memory left. It may have one later. */
export const isNotStarted = (error: unknown): boolean => (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_INIT_FAILED';

interface Job {
  readonly answerers: Answerers;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly startedAt: number;
  /** The thread's milliseconds of work when the task began; undefined until then. */
  busyBefore: number | undefined;
  /** Why something that it asked for failed: that is what the job fails with. */
  cause?: unknown;
}

const LOOK_MS = 100;
const YOUNG_MIB = 16;

/** One thread: a task at a time, none after one that was ended. It keeps no process alive while it has nothing to do. */
export class Thread {
  readonly #worker: Worker;
  #job: Job | undefined;
  #watch: NodeJS.Timeout | undefined;
  #ended = false;
  #heapMiB = 0;

  /** @throws Error that `isNotStarted`: some of them come later, as what `run` throws */
  constructor(private readonly limits: ThreadLimits) {
    const { file, execArgv } = entry();
    this.#worker = new Worker(file, {
      name: 'work',
      env: {},
      execArgv: [...execArgv],
      argv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMiB, maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.#worker.unref();
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      const full = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#settle((job) => job.reject(full ? new TooDear('memory', `takes more than ${limits.heapMiB} MiB of memory`) : error));
      this.#ended = true;
    });
    this.#worker.on('exit', (code) => {
      this.#ended = true;
      this.#settle((job) => job.reject(new Error(`a thread has ended by itself (${code})`)));
    });
  }

  /** False once it has ended, or holds so much that it had better. */
  get isUsable(): boolean {
    return !this.#ended && this.#heapMiB <= this.limits.heapMiB / 2;
  }

  /** @throws TooDear, TooLate; an Error when the task throws or the thread dies; what an answerer throws */
  run<I, O>(task: Task<I, O>, input: I, answerers: Answerers): Promise<O> {
    const { module, name } = task;
    this.#worker.ref();
    return new Promise<unknown>((resolve, reject) => {
      this.#job = { answerers, resolve, reject, startedAt: performance.now(), busyBefore: undefined };
      this.#watch = setInterval(() => this.#look(), Math.min(LOOK_MS, this.limits.busyMs));
      this.#send({ kind: 'job', module, name, input });
    }) as Promise<O>;
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#settle((job) => job.reject(new TooLate('the process is stopping')));
    await this.#worker.terminate();
  }

  #look(): void {
    const { startedAt, busyBefore } = this.#job!;
    const { busyMs, wallMs } = this.limits;
    if (busyBefore !== undefined && this.#busy() - busyBefore > busyMs)
      this.#kill(new TooDear('time', `takes more than ${busyMs / 1000} s of work`));
    else if (performance.now() - startedAt > wallMs) this.#kill(new TooLate(`did not end within ${wallMs / 1000} s`));
  }

  #kill(error: Error): void {
    this.#ended = true;
    void this.#worker.terminate();
    this.#settle((job) => job.reject(error));
  }

  #busy(): number {
    return this.#worker.performance.eventLoopUtilization().active;
  }

  #receive(message: FromThread): void {
    const job = this.#job;
    if (job === undefined) return;
    if (message.kind === 'begun') job.busyBefore = this.#busy();
    else if (message.kind === 'calls') void this.#answer(job, message.calls);
    else if (message.kind === 'done') {
      this.#heapMiB = message.heapMiB;
      this.#settle(({ resolve }) => resolve(message.value));
    } else
      this.#settle(({ reject, cause }) => {
        if (cause !== undefined) return reject(cause);
        const error = new Error(message.message);
        if (message.stack !== undefined) error.stack = message.stack;
        reject(error);
      });
  }

  /** Answers as they come; those that are there at the same time go together. */
  async #answer(job: Job, calls: readonly Call[]): Promise<void> {
    let ready: { id: number; value?: unknown; failed?: true }[] = [];
    const send = (answer: { id: number; value?: unknown; failed?: true }): void => {
      if (ready.push(answer) > 1) return;
      setImmediate(() => {
        if (this.#job === job) this.#send({ kind: 'answers', answers: ready });
        ready = [];
      });
    };
    await Promise.all(
      calls.map(async ({ id, name, args }) => {
        try {
          send({ id, value: await job.answerers[name]!(...(args as never[])) });
        } catch (error) {
          job.cause ??= error;
          send({ id, failed: true });
        }
      }),
    );
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #settle(how: (job: Job) => void): void {
    const job = this.#job;
    if (job === undefined) return;
    this.#job = undefined;
    clearInterval(this.#watch);
    this.#worker.unref();
    how(job);
  }
}

/** The module that a thread runs: built, or from the sources in tests and in development. */
function entry(): { readonly file: URL; readonly execArgv: readonly string[] } {
  if (import.meta.url.endsWith('.js')) return { file: new URL('./worker.js', import.meta.url), execArgv: [] };
  const sources = fileURLToPath(new URL('../../../scripts/typescript.mjs', import.meta.url));
  return { file: new URL('./worker.ts', import.meta.url), execArgv: ['--import', sources] };
}
