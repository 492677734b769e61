import { Injectable } from '@nestjs/common';
import { durationAt } from '../../configuration/config/duration-at.js';
import type { RunningFollower } from '../../configuration/config/follower.js';
import { Following } from '../../configuration/config/following.js';
import { dueAfter } from './due.js';
import { isFireable, ordersOf, type EffectiveOrder } from './order-definition.js';
import { OrderSyncRepository, type SyncedOrder } from './order-sync.repository.js';
import { OrderTimes } from './order-times.js';
import type { OrderRow } from './order-rows.js';

/** Follows what the files of cities say of their orders. */
@Injectable()
export class OrderSync {
  readonly #follower: RunningFollower = {
    table: 'order_cities',
    what: 'the orders of a city',
    follow: async (tx, { streamId }, { config, index: head }) => {
      const now = await this.times.now(tx);
      const { orders } = ordersOf(config);
      const names = new Set(orders.map(({ scopedName }) => scopedName));
      const before = await this.repository.orders(tx, streamId, [...names]);
      const known = new Map(before.map((row) => [row.scoped_name, row]));
      const rows = orders.map((order) => synced(order, known.get(order.scopedName), head, now));
      if (before.some(({ present, scoped_name: name }) => present && !names.has(name)))
        await this.repository.removeOthers(tx, streamId, [...names]);
      if (rows.length > 0) await this.repository.save(tx, streamId, rows);
      const types = rows.flatMap(({ listens }) => (listens === null ? [] : [listens]));
      const historyMs = durationAt(config, 'beads', 'policies', 'order_tracking', 'delete_after_close');
      await this.repository.saveCity(tx, streamId, [...new Set(types)], head, historyMs);
    },
    gone: (tx, { streamId }) => this.repository.removeOthers(tx, streamId, []),
  };

  constructor(
    private readonly repository: OrderSyncRepository,
    private readonly following: Following,
    private readonly times: OrderTimes,
  ) {}

  /** Answers how many cities were followed. */
  follow(signal?: AbortSignal): Promise<number> {
    return this.following.turn(this.#follower, signal);
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
    // For one that was off deliveries may wait.
    look_at: active ? (timesSame ? lookAgain(before, now) : definition.trigger === 'webhook' ? now : due) : null,
    // Only what happens from now on counts.
    event_cursor: heard ? before.event_cursor : head,
  };
}

/** One that has a firing open keeps waiting for its end; one whose city did not run is looked at no later than at its time. */
function lookAgain({ look_at: lookAt, next_due_at: due }: OrderRow, now: Date): Date | null {
  const time = due ?? now;
  return lookAt === null || lookAt < time ? lookAt : time;
}

const timing = ({ trigger, interval, schedule, tz }: EffectiveOrder['definition']): string =>
  JSON.stringify([trigger, interval, schedule, tz]);
