import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../../contract/problems.js';
import { onBehalfOf } from '../../../../platform/audit/audited-request.js';
import { AppConfig } from '../../../../platform/config/config.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { Drain } from '../../../../platform/streams/drain.js';
import { HintListener } from '../../../../platform/streams/listener.js';
import { Signals } from '../../../../platform/streams/signals.js';
import type { Subscriber } from '../../../../platform/streams/subscriber.js';
import { sleep } from '../../../../platform/time/clock.js';
import { inStep, onTicks } from '../../../../platform/time/ticks.js';
import { workFor } from '../../../../platform/turns/working.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { EXTMSG_TOPIC } from '../topics.js';
import { Connection, type Prepared } from './connection.js';
import { ConnectionsRepository } from './connections.repository.js';
import { OffersRepository } from './offers.repository.js';
import { Offers } from './offers.service.js';

const RETRY_MS = 500;

/**
 * The connected clients of this process. One query says for which of their adapters something waits; each connection then takes for
 * itself, so that none waits for another. What a stream had stays its client's until the claim ends, also when the stream has ended:
 * the client may be publishing it.
 */
@Injectable()
export class ConnectionHub implements OnModuleInit {
  readonly #open = new Map<string, Connection>();
  readonly #works = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();
  #asked = false;
  #renewing = false;
  readonly #drain = new Drain(
    () => this.#asked && this.#open.size > 0,
    () => this.#look(),
    (error) => this.log.debug({ err: error }, 'what waits for connected clients could not be read; trying again'),
    this.#stop.signal,
  );

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ConnectionsRepository,
    private readonly waiting: OffersRepository,
    private readonly offers: Offers,
    private readonly timings: ExtmsgTimings,
    private readonly signals: Signals,
    private readonly listener: HintListener,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    const open = (): number => this.#open.size;
    metrics.gauge({
      name: 'svc_extmsg_connections_open',
      help: 'Streams of connected clients open on this process',
      collect() {
        this.set(open());
      },
    });
  }

  onModuleInit(): void {
    const forget = this.signals.onTopics((topics) => {
      if (topics === 'all' || topics.has(EXTMSG_TOPIC)) this.#ask();
    });
    const endTicks = onTicks(() => this.#tick());
    const loops = [
      this.#repeat(
        () => this.listener.pollMs,
        () => this.#ask(),
      ),
      this.#repeat(
        () => this.timings.renewMs,
        () => this.#renew(),
      ),
    ];
    this.lifecycle.onStop('streams', 'streams of connected clients', async () => {
      forget();
      endTicks();
      this.#stop.abort();
      for (const connection of this.#open.values()) connection.end();
      await Promise.all([this.#drain.settled(), ...loops, ...this.#works]);
    });
  }

  /** @throws ProblemError unavailable when this process takes no streams any more. */
  assertOpen(): void {
    if (this.#stop.signal.aborted) throw problem('unavailable', 'this replica is stopping, connect again');
  }

  /** Gives a client what waits for it, now and from now on. */
  attach(subscriber: Subscriber, prepared: Prepared): void {
    const connection = new Connection(prepared, subscriber);
    this.#open.set(connection.id, connection);
    if (this.#stop.signal.aborted) return connection.end();
    connection.beat(Date.now(), this.config.heartbeatMs);
    this.#keep(onBehalfOf(undefined, () => workFor(undefined, () => this.#serve(connection))));
  }

  /** Its stream has ended: it counts no more. */
  detach(id: string): void {
    const connection = this.#open.get(id);
    if (connection === undefined) return;
    this.#open.delete(id);
    connection.hear();
    // If this fails its time runs out.
    this.#keep(onBehalfOf(undefined, () => workFor(undefined, () => this.repository.remove(id).catch(() => undefined))));
  }

  async #serve(connection: Connection): Promise<void> {
    while (connection.open) {
      await connection.ready();
      if (!connection.open) return;
      try {
        await this.offers.unwritten(connection);
        await this.offers.more(connection);
      } catch (error) {
        this.log.debug({ err: error, connection: connection.id }, 'a connected client could not be given what waits; trying again');
        await sleep(RETRY_MS, this.#stop.signal);
        connection.hear();
      }
    }
  }

  #ask(): void {
    this.#asked = true;
    if (this.#open.size > 0) onBehalfOf(undefined, () => workFor(undefined, () => void this.#drain.run()));
  }

  async #look(): Promise<void> {
    this.#asked = false;
    const adapters = [...new Set([...this.#open.values()].map(({ adapterPk }) => adapterPk))];
    try {
      const waiting = await this.waiting.waiting(adapters);
      for (const connection of this.#open.values()) if (waiting.has(connection.adapterPk)) connection.hear();
    } catch (error) {
      this.#asked = true;
      throw error;
    }
  }

  /** Those that count no more end: their adapter is gone or has another token, or their client goes on elsewhere. */
  async #renew(): Promise<void> {
    if (this.#open.size === 0 || this.#renewing) return;
    this.#renewing = true;
    try {
      const ids = [...this.#open.keys()];
      const held = await this.repository.renew(ids, this.timings.connectionMs);
      for (const id of ids) if (!held.has(id)) this.#open.get(id)?.end();
    } catch (error) {
      this.log.debug({ err: error }, 'streams of connected clients could not be renewed; trying again');
    } finally {
      this.#renewing = false;
    }
  }

  #tick(): void {
    const now = Date.now();
    for (const connection of this.#open.values()) connection.tick(now, this.config.heartbeatMs);
  }

  async #repeat(everyMs: () => number, work: () => unknown): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await sleep(inStep(everyMs()), this.#stop.signal);
      if (!this.#stop.signal.aborted) await work();
    }
  }

  #keep(work: Promise<unknown>): void {
    const kept = work.finally(() => this.#works.delete(kept));
    this.#works.add(kept);
  }
}
