import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { doubled } from '../../../platform/time/doubled.js';
import { LeasedWork, type Held } from '../../sessions/launch/leased-work.js';
import type { Places } from '../../sessions/launch/places.js';
import { ServiceProcesses, type Ended } from './service-processes.js';
import { Attention } from './attention.js';
import { ServiceLeasesRepository, type Claimed, type Order, type Published } from './service-leases.repository.js';
import { KEEPER, SERVICES_TOPIC, stateEvent, worded, type Condition, type ServiceRow } from './service-row.js';
import { ServiceTimings } from './service-timings.js';

/** So many are taken at a time: other hosts get some as well. */
const TAKEN_AT_ONCE = 4;

/** Has services on this host: starts their processes, begins them anew when they fail, and ends them when they are not to run. */
@Injectable()
export class ServiceRunner implements OnApplicationBootstrap {
  readonly #leased: LeasedWork<Claimed>;
  readonly #attention = new Map<number, Attention>();

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ServiceLeasesRepository,
    private readonly processes: ServiceProcesses,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly timings: ServiceTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {
    const source = {
      name: 'services',
      topic: SERVICES_TOPIC,
      due: this.repository.isDue,
      claim: (places: Places) => this.#claim(places),
      renew: (pks: readonly number[]) => this.#renew(pks),
      carryOut: (held: Held<Claimed>) => this.#carryOut(held),
    };
    this.#leased = new LeasedWork(source, timings, log);
  }

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    if (this.config.runnerCapacity === 0) return;
    const unlisten = this.signals.onTopics((topics) => {
      if (this.#attention.size > 0 && (topics === 'all' || topics.has(SERVICES_TOPIC))) void this.#look();
    });
    this.lifecycle.onStop('worker', 'hints of owned services', unlisten);
    this.#leased.begin(this.signals, this.due, this.lifecycle);
  }

  /** Ends what runs, and lets others have it. */
  stop(): Promise<void> {
    return this.#leased.stop();
  }

  async #claim({ room, open }: Places): Promise<Claimed[]> {
    const taken: Claimed[] = [];
    while (taken.length < Math.min(room, TAKEN_AT_ONCE)) {
      const few = taken.length < open ? Infinity : this.timings.few;
      const row = await this.transactions.run(async (tx) => {
        const claimed = await this.repository.claim(tx, this.worker, this.timings.leaseMs, few);
        if (claimed === undefined || claimed.before === null || !claimed.wanted) return claimed;
        await this.#tell(tx, claimed, {
          condition: { state: 'starting', localState: 'starting', reason: 'owner_lost', detail: 'the host that had it is gone' },
        });
        return claimed;
      });
      if (row === undefined) break;
      taken.push(row);
    }
    return taken;
  }

  async #renew(pks: readonly number[]): Promise<ReadonlySet<number>> {
    const orders = await this.repository.renew(this.worker, pks, this.timings.leaseMs);
    this.#heed(orders);
    return new Set(orders.map(({ pk }) => pk));
  }

  async #look(): Promise<void> {
    try {
      this.#heed(await this.repository.orders(this.worker));
    } catch (error) {
      this.log.debug({ err: error }, 'what is wanted of services could not be read; the next renewal tells');
    }
  }

  #heed(orders: readonly Order[]): void {
    for (const order of orders) this.#attention.get(order.pk)?.heed(order);
  }

  async #carryOut(held: Held<Claimed>): Promise<void> {
    const { pk } = held.row;
    try {
      for (;;) {
        const row = await this.repository.own(pk, this.worker);
        if (row === undefined || held.lost) return;
        if (held.signal.aborted || !row.wanted) {
          if (await this.#putAway(held, row, STOPPED)) return;
          continue;
        }
        const attention = new Attention(row, held.signal);
        this.#attention.set(pk, attention);
        const ended = await this.#runOnce(held, row, attention);
        attention.close();
        if (ended === 'host_busy' && (await this.#putAway(held, row, BUSY))) return;
      }
    } finally {
      this.#attention.delete(pk);
    }
  }

  /** One process from its start to its end, and the time until the next. */
  async #runOnce(held: Held<Claimed>, row: ServiceRow, attention: Attention): Promise<Ended['how'] | undefined> {
    const city = held.row.city;
    const publish = async (published: Published): Promise<void> => {
      await this.#leased.persist(held, () => this.#publish(city, row, published));
    };
    const attempt = await this.repository.begin(row.pk, this.worker);
    if (attempt === undefined) return undefined;
    const ended = await this.processes.run({ city, row, attempt, attention, publish, isLost: () => held.lost });
    if (held.lost || ended.how === 'asked' || ended.how === 'host_busy') return ended.how;
    const failures = ended.wasStable ? 1 : row.failures + 1;
    const waitMs = doubled(failures, this.timings.backoffMs, this.timings.maxBackoffMs);
    this.log.warn({ city, service: row.name, reason: ended.how, detail: ended.detail, waitMs }, 'a service is begun anew');
    await publish({ condition: failedBy(ended), failures, retryAt: new Date(Date.now() + waitMs) });
    await attention.wait(waitMs);
    return ended.how;
  }

  async #publish(city: string, row: ServiceRow, published: Published): Promise<void> {
    await this.transactions.run((tx) => this.#tell(tx, { ...row, city }, published), { key: city });
  }

  async #tell(tx: Tx, row: ServiceRow & { city: string }, published: Published): Promise<void> {
    const news = await this.repository.publish(tx, row, this.worker, published);
    if (news === true) await this.eventLog.append(tx, [stateEvent(row.city, row.name, KEEPER, published.condition)]);
  }

  /**
   * This process stops or has no place for it, or the service is not to run: whoever is to have it next may. False where it was told
   * something else meanwhile, which this process then sees to, as long as it does not stop.
   */
  async #putAway(held: Held<Claimed>, row: ServiceRow, why: Pick<Condition, 'reason' | 'detail'>): Promise<boolean> {
    const { city } = held.row;
    let isFree = false;
    const condition: Condition = row.wanted
      ? { state: 'starting', localState: 'starting', ...why }
      : { state: 'stopped', localState: 'stopped', reason: 'service_closed' };
    const putAway = async (tx: Tx): Promise<void> => {
      const news = await this.repository.publish(tx, row, this.worker, { condition });
      isFree = news !== undefined || held.signal.aborted;
      if (isFree) await this.repository.release(tx, row.pk, this.worker);
      this.signals.mark(tx, SERVICES_TOPIC);
      if (news === true) await this.eventLog.append(tx, [stateEvent(city, row.name, KEEPER, condition)]);
    };
    await this.#leased.persist(held, () => this.transactions.run(putAway, { key: city }));
    return isFree;
  }
}

const STOPPED = { reason: 'owner_stopped', detail: 'the host that had it has stopped' };
const BUSY = { reason: 'host_busy', detail: 'the host that had it has no user left for it' };

function failedBy({ how, detail }: Ended): Condition {
  const localState = how === 'close_error' ? 'close_error' : 'degraded';
  return { state: 'degraded', localState, reason: how, ...(detail === undefined ? {} : { detail: worded(detail) }) };
}
