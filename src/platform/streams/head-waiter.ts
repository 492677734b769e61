import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../contract/duration.js';
import { ANYBODY, credentialOf, type Principal } from '../../contract/principal.js';
import type { BlockingRead } from '../../contract/query.js';
import { Slots } from '../collections/slots.js';
import { Lifecycle } from '../health/lifecycle.js';
import { whenGone } from '../http/leaving.js';
import { StreamLimits } from '../http/rate-limits.js';
import { resting } from '../turns/working.js';
import { EventStreams } from './event-streams.js';
import { StreamHub } from './hub.js';
import { keyEnded, KeyWatch } from './key-watch.js';

const LOOK_EVERY_MS = 20;
const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 5 * 60_000;

interface Waiter {
  readonly stream: string;
  readonly above: number;
  readonly done: () => void;
}

/**
 * Lets blocking reads wait for a stream to move. It checks the heads that the hub knows anyway, so a thousand waiting
 * reads cost no query. Without a hint the hub knows a head by its poll, a second later at most.
 */
@Injectable()
export class HeadWaiter {
  readonly #waiters = new Slots<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    private readonly hub: StreamHub,
    private readonly keys: KeyWatch,
    private readonly limits: StreamLimits,
    private readonly streams: EventStreams,
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
      let isWaiting = true;
      const done = (): void => {
        if (!isWaiting) return;
        isWaiting = false;
        clearTimeout(limit);
        gone?.removeEventListener('abort', done);
        this.#waiters.remove(place);
        if (this.#waiters.size === 0) this.#rest();
        resolve();
      };
      const waiter = { stream, above: seq, done };
      const limit = setTimeout(done, ms);
      gone?.addEventListener('abort', done, { once: true });
      const place = this.#waiters.add(waiter);
      this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    });
  }

  /**
   * Called by a blocking read after its first look. Waits if the request asks for it and the head that was seen is not above `index`.
   * True when it has waited and the caller should look again.
   *
   * @throws ProblemError unauthorized once the key that it waits with is no longer good; rate_limited, and unavailable, where one more
   * would be too many, together with the streams that are open
   */
  async readAgain(stream: string, head: number, { index, wait }: BlockingRead, gone: AbortSignal): Promise<boolean> {
    if (index === undefined || head > Number(index)) return false;
    const ms = Math.min(wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(wait) ?? DEFAULT_WAIT_MS), MAX_WAIT_MS);
    const leave = this.#hold(stream, callers.get(gone) ?? ANYBODY);
    try {
      await this.restUntil(stream, Number(index), ms + Math.random() * (ms / 16), gone);
    } finally {
      leave();
    }
    return true;
  }

  /** As `above`, but lends the request's place to others meanwhile. The caller bounds how many wait. @throws ProblemError unauthorized as above */
  async restUntil(stream: string, seq: number, ms: number, gone: AbortSignal): Promise<void> {
    const revoked = new AbortController();
    const forget = this.keys.add(credentialOf(callers.get(gone) ?? ANYBODY), () => revoked.abort());
    try {
      const ended = AbortSignal.any([gone, revoked.signal]);
      await resting(() => this.above(stream, seq, ms, ended));
    } finally {
      forget();
    }
    if (revoked.signal.aborted) throw keyEnded();
  }

  #hold(city: string, caller: Principal): () => void {
    let leave = (): void => undefined;
    const refused = this.limits.admit(caller, city, (left) => (leave = left));
    if (refused !== undefined) throw refused;
    try {
      const end = this.streams.hold();
      return () => {
        leave();
        end();
      };
    } catch (error) {
      leave();
      throw error;
    }
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

/** The caller of an operation without a key. */
const callers = new WeakMap<AbortSignal, Principal>();

/** Aborts when the client leaves before its answer. A blocking read also ends with the caller's key. */
export function clientGone(response: ServerResponse, caller: Principal = ANYBODY): AbortSignal {
  const gone = new AbortController();
  callers.set(gone.signal, caller);
  whenGone(response, () => gone.abort());
  return gone.signal;
}
