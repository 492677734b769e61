import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import pgListen, { type Subscriber } from 'pg-listen';
import { connectionConfig, PgPool } from '../database/database.js';
import { serversOf } from '../database/servers.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { Readiness } from '../health/readiness.js';
import { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { decodeHint, HINT_CHANNEL, type Hint } from './hint.js';

type CreateSubscriber = (typeof pgListen)['default'];
/** Under `nodenext` the CommonJS default arrives wrapped once; under jest's loader it may not. */
const createSubscriber: CreateSubscriber = typeof pgListen === 'function' ? (pgListen as CreateSubscriber) : pgListen.default;

const NONCE_EVERY_MS = 5_000;
const NONCE_WITHIN_MS = 2_000;
const RETRY_MS = 200;
const POLL_MS = 1_000;
/** While LISTEN is down, only the poll finds events. */
const POLL_UNHEALTHY_MS = 50;

/** Where the LISTEN connection goes. Provided by the root module, since the pool may stand behind a proxy that cannot LISTEN. */
export class ListenUrl {
  constructor(readonly url: string) {}
}

export interface ListenerEvents {
  /** A hint arrived. */
  hint(hint: Exclude<Hint, { kind: 'nonce' }>): void;
  /** LISTEN is (again) in place: whatever was notified before is lost, so read every head. */
  connected(): void;
}

/**
 * The process's one LISTEN connection. It notifies itself a nonce every 5 s and builds a new connection when
 * that does not arrive within 2 s: a half-open socket reports neither an error nor an end.
 */
@Injectable()
export class HintListener {
  #subscriber: Subscriber | undefined;
  #healthy = false;
  #unhealthySince = Date.now();
  #stopped = false;
  #running: Promise<void> | undefined;
  readonly #events = new Set<ListenerEvents>();
  #awaited: { nonce: string; arrived: () => void } | undefined;
  readonly #stop = new AbortController();

  constructor(
    private readonly target: ListenUrl,
    private readonly pool: PgPool,
    private readonly log: AppLogger,
    lifecycle: Lifecycle,
    readiness: Readiness,
    metrics: Metrics,
  ) {
    lifecycle.onStop('listener', 'hint listener', () => this.stop());
    readiness.register('listener', () =>
      this.#healthy || Date.now() - this.#unhealthySince < 3_000 ? undefined : 'LISTEN connection is down; polling',
    );
    this.reconnects = metrics.counter({ name: 'svc_listener_reconnects_total', help: 'Times the LISTEN connection was built again' });
    const up = (): number => (this.#healthy ? 1 : 0);
    metrics.gauge({
      name: 'svc_listener_up',
      help: '1 while LISTEN works',
      collect() {
        this.set(up());
      },
    });
  }

  private readonly reconnects;

  get healthy(): boolean {
    return this.#healthy;
  }

  /** How long a reader that is woken by hints may wait before it polls. */
  get pollMs(): number {
    return this.#healthy ? POLL_MS : POLL_UNHEALTHY_MS;
  }

  /** Calls `events` from now on. The first listener has the connection made. */
  listen(events: ListenerEvents): void {
    this.#events.add(events);
    if (this.#running === undefined) this.#running = this.#run();
    else if (this.#healthy) events.connected();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stop.abort();
    await this.#discard();
  }

  async #run(): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      if (attempt > 0) this.reconnects.inc();
      try {
        await this.#connect();
        this.#setHealthy(true);
        for (const events of this.#events) events.connected();
        while (!this.#stopped && (await this.#nonceArrives())) await sleep(NONCE_EVERY_MS, this.#broken(this.#subscriber));
      } catch (error) {
        this.log.debug({ err: error }, 'LISTEN could not be set up');
      }
      this.#setHealthy(false);
      await this.#discard();
      if (!this.#stopped) await sleep(RETRY_MS, this.#stop.signal);
    }
  }

  async #connect(): Promise<void> {
    const servers = serversOf(this.target.url);
    const address = await servers.current();
    const subscriber = createSubscriber(connectionConfig(address, 'svc-listen'), {
      parse: (payload: string) => payload,
      paranoidChecking: false,
      retryLimit: 1,
      retryTimeout: 1,
    });
    this.#subscriber = subscriber;
    const broken = new AbortController();
    this.#brokenSignals.set(subscriber, broken);
    subscriber.events.on('error', () => broken.abort());
    subscriber.events.on('reconnect', () => broken.abort());
    subscriber.notifications.on(HINT_CHANNEL, (payload: unknown) => this.#receive(typeof payload === 'string' ? payload : '*'));
    await subscriber.connect().catch((error: unknown) => {
      servers.failed(address);
      throw error;
    });
    await this.#answered(subscriber.listenTo(HINT_CHANNEL), subscriber);
  }

  /** @throws Error when the server is lost, or does not answer in time, as one that was cut off never would */
  async #answered(asked: Promise<unknown> | undefined, subscriber: Subscriber): Promise<void> {
    const over = new AbortController();
    const late = sleep(NONCE_WITHIN_MS, AbortSignal.any([over.signal, this.#broken(subscriber)])).then(() => {
      throw new Error('LISTEN is not answered');
    });
    await Promise.race([asked, late]).finally(() => over.abort());
  }

  readonly #brokenSignals = new WeakMap<Subscriber, AbortController>();

  #broken(subscriber: Subscriber | undefined): AbortSignal {
    const broken = subscriber === undefined ? undefined : this.#brokenSignals.get(subscriber);
    return broken === undefined ? this.#stop.signal : AbortSignal.any([broken.signal, this.#stop.signal]);
  }

  /** False when the connection is known to be broken or does not deliver what this process notifies itself. */
  async #nonceArrives(): Promise<boolean> {
    const subscriber = this.#subscriber;
    if (subscriber === undefined || this.#brokenSignals.get(subscriber)?.signal.aborted === true) return false;
    const nonce = randomBytes(6).toString('hex');
    let arrived = false;
    const wake = new AbortController();
    this.#awaited = {
      nonce,
      arrived: () => {
        arrived = true;
        wake.abort();
      },
    };
    try {
      await this.pool.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [HINT_CHANNEL, `!${nonce}`] });
    } catch {
      return true; // the pool's trouble says nothing about this connection; the next round asks again
    }
    if (!arrived) await sleep(NONCE_WITHIN_MS, AbortSignal.any([wake.signal, this.#broken(subscriber)]));
    this.#awaited = undefined;
    if (!arrived && !this.#stopped) this.log.warn('LISTEN connection does not deliver; building it again');
    return arrived;
  }

  #receive(payload: string): void {
    const hint = decodeHint(payload);
    if (hint.kind !== 'nonce') for (const events of this.#events) events.hint(hint);
    else if (this.#awaited?.nonce === hint.nonce) this.#awaited.arrived();
  }

  #setHealthy(healthy: boolean): void {
    if (this.#healthy && !healthy) this.#unhealthySince = Date.now();
    this.#healthy = healthy;
  }

  /** Waits only briefly: a half-open connection never finishes closing. */
  async #discard(): Promise<void> {
    const subscriber = this.#subscriber;
    this.#subscriber = undefined;
    if (subscriber === undefined) return;
    subscriber.events.on('error', () => undefined);
    const closed = new AbortController();
    void subscriber
      .close()
      .catch(() => undefined)
      .then(() => closed.abort());
    await sleep(500, closed.signal);
  }
}
