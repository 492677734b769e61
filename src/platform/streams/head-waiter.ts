import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../contract/duration.js';
import type { BlockingRead } from '../../contract/query.js';
import { Lifecycle } from '../health/lifecycle.js';
import { StreamHub } from './hub.js';

const LOOK_EVERY_MS = 20;
const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 5 * 60_000;

interface Waiter {
  readonly stream: string;
  readonly above: number;
  readonly done: () => void;
}

/**
 * Lets reads wait for a stream to move. It looks at the heads that the hub knows anyway, so a thousand waiting
 * reads cost no query; a head that the hub learns late is late by its poll, a second at most.
 */
@Injectable()
export class HeadWaiter {
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    private readonly hub: StreamHub,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('accept', 'waiting reads', () => {
      this.#stopped = true;
      for (const waiter of [...this.#waiters]) waiter.done();
    });
  }

  /** Resolves once the stream's head is above `seq`, after `ms`, when `gone` aborts, or when the process stops. */
  async above(stream: string, seq: number, ms: number, gone?: AbortSignal): Promise<void> {
    if (this.#stopped || gone?.aborted === true || this.#isAbove(stream, seq)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(limit);
        gone?.removeEventListener('abort', done);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#rest();
        resolve();
      };
      const waiter = { stream, above: seq, done };
      const limit = setTimeout(done, ms);
      gone?.addEventListener('abort', done, { once: true });
      this.#waiters.add(waiter);
      this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    });
  }

  /**
   * What a blocking read does after its first look: waits when it was asked to and the head it saw is not above `index`.
   * True when it has waited and should look again.
   */
  async readAgain(stream: string, head: number, { index, wait }: BlockingRead, gone: AbortSignal): Promise<boolean> {
    if (index === undefined || head > Number(index)) return false;
    const ms = Math.min(wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(wait) ?? DEFAULT_WAIT_MS), MAX_WAIT_MS);
    await this.above(stream, Number(index), ms + Math.random() * (ms / 16), gone);
    return true;
  }

  #isAbove(stream: string, seq: number): boolean {
    return (this.hub.stream(stream)?.head ?? -1) > seq;
  }

  #look(): void {
    for (const waiter of [...this.#waiters]) if (this.#isAbove(waiter.stream, waiter.above)) waiter.done();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Aborts when the client goes away before it has been answered. */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}
