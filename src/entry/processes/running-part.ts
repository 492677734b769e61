import type { ChildProcess } from 'node:child_process';
import type { AppLogger } from '../../platform/logging/logger.js';
import { atMost, sleep } from '../../platform/time/clock.js';
import { doubled } from '../../platform/time/doubled.js';
import type { FromPart, ToPart, Walls } from './messages.js';

/** A process has said why it cannot start. */
export class StartFailed extends Error {}

export class PartTimings {
  /** Before a process that has ended is begun anew, doubled while it goes on to end. */
  readonly pauseMs: number = 250;
  readonly mostPauseMs: number = 10_000;
  /** A process that was ready for so long has not failed at its start. */
  readonly stableMs: number = 30_000;
  /** For the orderly end of a process that was never ready, and beyond what a ready one says that it takes. */
  readonly graceMs: number = 5_000;

  constructor(overrides: Partial<PartTimings> = {}) {
    Object.assign(this, overrides);
  }
}

export interface PartOptions {
  readonly name: string;
  /** Starts the process; what it sends is a `FromPart`. */
  readonly fork: () => ChildProcess;
  readonly begin: ToPart;
  readonly log: AppLogger;
  readonly timings: PartTimings;
}

/** What a ready process has said of itself. */
export interface Ready {
  readonly walls: Walls;
  readonly stopMs: number;
}

/** One of the processes of a start: begun anew whenever it ends, until it is to stop. */
export class RunningPart {
  restarts = 0;
  #process: ChildProcess | undefined;
  #ready: Ready | undefined;
  #readySince = 0;
  #failures = 0;
  #exited: Promise<void> = Promise.resolve();
  #listener: ((message: FromPart) => void) | undefined;
  readonly #stopping = new AbortController();

  constructor(private readonly options: PartOptions) {}

  get name(): string {
    return this.options.name;
  }

  get isReady(): boolean {
    return this.#ready !== undefined;
  }

  /** Hears what the process says beside its start and its end. */
  listen(listener: (message: FromPart) => void): void {
    this.#listener = listener;
  }

  /** Nobody hears it when the process is not there. */
  send(message: ToPart): void {
    // It may be ending: that is told otherwise.
    if (this.#process?.connected === true) this.#process.send(message, () => undefined);
  }

  /** Starts it for the first time. @throws StartFailed when it ends before it is ready. */
  async start(): Promise<Ready> {
    const ready = await this.#begin();
    if (ready instanceof StartFailed) throw ready;
    return ready;
  }

  /** Its orderly end; when that takes longer than it should, its end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const { graceMs } = this.options.timings;
    const limitMs = graceMs + (this.#ready?.stopMs ?? 0);
    this.send({ kind: 'stop' });
    await atMost(limitMs, this.#exited);
    if (this.#process === undefined) return;
    this.options.log.warn({ process: this.name, limitMs }, 'a process has not ended in time and is killed');
    this.kill();
    await this.#exited;
  }

  kill(): void {
    this.#stopping.abort();
    this.#process?.kill('SIGKILL');
  }

  /** Resolves when the process is ready, or has ended before it was. */
  #begin(): Promise<Ready | StartFailed> {
    const child = this.options.fork();
    this.#process = child;
    let why: string | undefined;
    return new Promise((resolve) => {
      child.on('message', (message: FromPart) => {
        if (message.kind === 'failed') ({ why } = message);
        else if (message.kind === 'ready') {
          this.#ready = { walls: message.walls, stopMs: message.stopMs };
          this.#readySince = performance.now();
          resolve(this.#ready);
        } else this.#listener?.(message);
      });
      this.#exited = new Promise((ended) => {
        const end = (code: number | null, signal: NodeJS.Signals | null): void => {
          if (this.#process !== child) return;
          this.#process = undefined;
          resolve(new StartFailed(why ?? `the process ${this.name} has ended while starting (${signal ?? code})`));
          this.#ended(child.pid, { code, signal, why });
          ended();
        };
        // What it has said last may still be on its way.
        child.once('exit', (code, signal) => {
          if (child.connected) child.once('disconnect', () => end(code, signal));
          else end(code, signal);
        });
        // Where it was never there no exit follows; where a message did not reach it one does.
        child.on('error', () => {
          if (child.pid === undefined) end(null, null);
        });
      });
      this.send(this.options.begin);
    });
  }

  #ended(pid: number | undefined, how: { code: number | null; signal: NodeJS.Signals | null; why: string | undefined }): void {
    const wasReady = this.#ready !== undefined;
    this.#ready = undefined;
    // Whoever has started it hears of a first start that fails.
    if (this.#stopping.signal.aborted || (!wasReady && this.restarts === 0)) return;
    const { pauseMs, mostPauseMs, stableMs } = this.options.timings;
    this.#failures = wasReady && performance.now() - this.#readySince >= stableMs ? 1 : this.#failures + 1;
    const waitMs = doubled(this.#failures, pauseMs, mostPauseMs);
    this.options.log.warn({ process: this.name, pid, ...how, waitMs }, 'a process has ended by itself and is begun anew');
    void this.#again(waitMs);
  }

  async #again(waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(waitMs, signal);
    if (signal.aborted) return;
    this.restarts++;
    const ready = await this.#begin();
    if (!(ready instanceof StartFailed)) this.options.log.info({ process: this.name, pid: this.#process?.pid }, 'a process is ready again');
  }
}
