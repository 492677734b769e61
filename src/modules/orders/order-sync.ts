import { Injectable } from '@nestjs/common';
import { Transactions } from '../../platform/database/transactions.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { ConfigReadsService } from '../config/config-reads.service.js';
import { dueAfter } from './due.js';
import { isFireable, ordersOf, type EffectiveOrder } from './order-definition.js';
import { OrderSyncRepository, type SyncedOrder, type UnsyncedCity } from './order-sync.repository.js';
import { OrderTimes } from './order-times.js';
import type { OrderRow } from './order-rows.js';

const AT_ONCE = 50;

/** Follows what the files of cities say of their orders: any worker does, once a revision. */
@Injectable()
export class OrderSync {
  constructor(
    private readonly repository: OrderSyncRepository,
    private readonly config: ConfigReadsService,
    private readonly transactions: Transactions,
    private readonly times: OrderTimes,
    private readonly log: AppLogger,
  ) {}

  /** Answers how many cities were followed. */
  async follow(signal?: AbortSignal): Promise<number> {
    let followed = 0;
    for (const city of await this.repository.unsynced(AT_ONCE)) {
      if (signal?.aborted === true) break;
      try {
        await this.#followCity(city);
        followed++;
      } catch (error) {
        this.log.warn({ err: error, city: city.name }, 'the orders of a city could not be read; the next turn tries again');
      }
    }
    return followed;
  }

  async #followCity(city: UnsyncedCity): Promise<void> {
    const now = await this.times.now();
    await this.transactions.run(
      async (tx) => {
        if (!(await this.repository.lock(tx, city.streamId))) return;
        const current = await this.config.known(city, tx);
        if (current === undefined) return;
        const { orders } = ordersOf(current.config);
        const known = new Map((await this.repository.orders(tx, city.streamId)).map((row) => [row.scoped_name, row]));
        const rows = orders.map((order) => synced(order, known.get(order.scopedName), current.index, now));
        await this.repository.save(tx, city.streamId, rows);
        const types = rows.flatMap(({ listens }) => (listens === null ? [] : [listens]));
        await this.repository.saveCity(tx, city.streamId, { revision: current.revision, types: [...new Set(types)], head: current.index });
      },
      { key: city.name },
    );
  }
}

/** What holds of an order from now on: what it has done stays, and so does its time unless the files say another. */
function synced(order: EffectiveOrder, before: OrderRow | undefined, head: number, now: Date): SyncedOrder {
  const { definition } = order;
  const active = order.enabled && isFireable(order);
  const wasActive = before !== undefined && before.present && before.enabled;
  const timesSame = wasActive && timing(before.definition) === timing(definition);
  const created = before?.created_at ?? now;
  const due = timesSame ? before.next_due_at : (dueAfter(definition, before?.last_started_at ?? undefined, now) ?? null);
  const listens = active && definition.trigger === 'event' ? definition.on! : null;
  const heard = wasActive && before.definition.trigger === 'event' && before.definition.on === definition.on;
  return {
    scoped_name: order.scopedName,
    name: order.name,
    rig: order.rig,
    definition,
    listens,
    enabled: active,
    created_at: created,
    next_due_at: active ? due : null,
    // One that has a firing open keeps waiting for its end; for one that was off deliveries may wait.
    look_at: active ? (timesSame ? before.look_at : definition.trigger === 'webhook' ? now : due) : null,
    // Only what happens from now on counts.
    event_cursor: heard ? before.event_cursor : head,
  };
}

const timing = ({ trigger, interval, schedule, tz }: EffectiveOrder['definition']): string =>
  JSON.stringify([trigger, interval, schedule, tz]);
