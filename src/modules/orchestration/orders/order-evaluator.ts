import { Injectable } from '@nestjs/common';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { newId } from '../../../platform/time/clock.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import { blockedFor, dueAfter, isMissed, reasonOf, STOPPED_MS } from './due.js';
import { CONTROLLER, Firings } from './firings.service.js';
import { FiringsRepository, type OrderChange } from './firings.repository.js';
import { OrderSyncRepository } from './order-sync.repository.js';
import { OrderTimes } from './order-times.js';
import type { NewFiring, OrderRow } from './order-rows.js';
import { DeliveriesRepository, type WaitingDelivery } from './webhooks/deliveries.repository.js';
import { errorOf, hooksOf } from './webhooks/webhook-definition.js';

/** Orders of one city that are looked at in one transaction. */
const BATCH = 100;
/** Due orders that a turn looks for: a city that has more does not keep the others from their turns for longer. */
const WINDOW = 2_000;
const CITIES = 200;
/** Events of a city that are looked through in a turn. */
const SPAN = 5_000;
/** A turn begins no city more after this: what files say is followed between turns, by the same worker. */
const LONGEST_MS = 500;
/** The same of waking orders: what is due has the rest. */
const WAKING_MS = 250;

interface DueCity {
  readonly name: string;
  readonly streamId: number;
  readonly running: boolean;
}

/**
 * Fires the orders whose time has come. Every worker has one: a look locks the rows of what is due and leaves out what another
 * one looks at, and the index of open firings has the last word. What is not due costs nothing.
 */
@Injectable()
export class OrderEvaluator {
  /** Where the next turn begins that wakes orders. */
  #after = 0;
  #isBehind = false;

  constructor(
    private readonly repository: FiringsRepository,
    private readonly sync: OrderSyncRepository,
    private readonly firings: Firings,
    private readonly deliveries: DeliveriesRepository,
    private readonly suspension: EffectiveSuspension,
    private readonly reads: ConfigReadsService,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly times: OrderTimes,
    private readonly log: AppLogger,
  ) {}

  /** Whether the last look has left something to the next one. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Looks at what is due by now, a batch of each city in turn, as far as it comes: one city at least. Answers how many firings began. */
  async look(signal?: AbortSignal): Promise<number> {
    this.#isBehind = false;
    const turn = new TurnTime(signal);
    await this.#wake(turn, await this.times.now());
    let began = 0;
    const broken = new Set<number>();
    while (signal?.aborted !== true) {
      const now = await this.times.now();
      const due = (await this.repository.dueCities(now, WINDOW)).filter((id) => !broken.has(id));
      let looked = 0;
      for (const streamId of due) {
        const since = performance.now();
        try {
          const done = await this.#lookAt(streamId, now);
          began += done.began;
          looked += done.looked;
        } catch (error) {
          broken.add(streamId);
          turn.leaveOut(since);
          this.log.warn({ err: error, stream: streamId }, 'the orders of a city could not be looked at; the next turn tries again');
        }
        // There may be orders that are due again before the others have been looked at.
        if (turn.isOver(LONGEST_MS)) {
          this.#isBehind = true;
          return began;
        }
      }
      // Nothing is due, or somebody else has what is left.
      if (looked === 0) break;
    }
    return began;
  }

  /** Once a city: its log may move faster than it is looked through. */
  async #wake(turn: TurnTime, now: Date): Promise<void> {
    const moved = await this.sync.moved(this.#after, CITIES);
    this.#after = moved.length < CITIES ? 0 : moved.at(-1)!;
    this.#isBehind = this.#after > 0;
    for (const streamId of moved) {
      const since = performance.now();
      try {
        if (await this.transactions.run((tx) => this.sync.wake(tx, streamId, now, SPAN))) this.#isBehind = true;
      } catch (error) {
        turn.leaveOut(since);
        this.log.warn({ err: error, stream: streamId }, 'the orders of a city could not be woken by its events; the next turn tries again');
      }
      if (turn.isOver(WAKING_MS) && streamId !== moved.at(-1)) {
        this.#after = streamId;
        this.#isBehind = true;
        return;
      }
    }
  }

  async #lookAt(streamId: number, now: Date): Promise<{ began: number; looked: number }> {
    const known = await this.repository.city(streamId);
    const city: DueCity = { name: known?.name ?? '', streamId, running: known?.running ?? false };
    return this.transactions.run(
      async (tx) => {
        const orders = await this.repository.lockDue(tx, streamId, now, BATCH);
        if (orders.length === 0) return { began: 0, looked: 0 };
        const blockerOf = await this.#blockers(tx, city);
        const isStopped = !city.running && (await this.sync.isStopped(tx, streamId));
        const changes: OrderChange[] = [];
        const firings: NewFiring[] = [];
        for (const order of orders) {
          const blocker = blockerOf(order.rig);
          const decided =
            blocker === undefined ? await this.#decide(tx, streamId, order, now) : putOff(order, now, isStopped, `not fired: ${blocker}`);
          if ('id' in decided) firings.push(decided);
          else changes.push(decided);
        }
        await this.repository.change(tx, streamId, changes);
        const { began, events } = await this.firings.begin(tx, city, firings, now);
        await this.deliveries.fired(tx, streamId, [...began]);
        await this.eventLog.append(tx, events);
        return { began: began.size, looked: orders.length };
      },
      { key: city.name },
    );
  }

  async #blockers(tx: Tx, city: DueCity): Promise<(rig: string) => string | undefined> {
    if (!city.running) return () => 'the city does not run';
    const blockers = await this.suspension.blockers(city, undefined, tx);
    return (rig) => blockers(undefined, rig);
  }

  /** What it was accepted for may be something else by now: a public webhook must not come to run a command by waiting. */
  async #refused(tx: Tx, streamId: number, order: OrderRow, { hook: name }: WaitingDelivery): Promise<string | undefined> {
    const current = await this.reads.known({ streamId }, tx);
    if (current === undefined) return undefined;
    const hook = hooksOf(current.config).find(({ scopedName }) => scopedName === name);
    const rules = hook?.rules.filter((rule) => rule.order?.scopedName === order.scoped_name) ?? [];
    if (hook === undefined || rules.length === 0) return 'the files lead it to this order no more';
    if (hook.visibility === 'public' && !hook.isAllowed) return 'webhooks.allow_public of the city does not name it';
    return rules.every((rule) => errorOf(rule) !== undefined) ? errorOf(rules[0]!) : undefined;
  }

  async #decide(tx: Tx, streamId: number, order: OrderRow, now: Date): Promise<NewFiring | OrderChange> {
    const { definition, scoped_name: scopedName, last_started_at: last } = order;
    const firing = { id: newId('firing'), order, cause: definition.trigger, actor: CONTROLLER } as const;
    switch (definition.trigger) {
      case 'cooldown':
      case 'cron': {
        const due = order.next_due_at;
        if (due === null || due > now) return { scopedName, lookAt: due };
        if (isMissed(definition, due, now)) {
          const next = dueAfter(definition, last ?? undefined, now) ?? null;
          return { scopedName, lookAt: next, nextDueAt: next, note: `cron: ${due.toISOString()} was missed, and is not made up for` };
        }
        return { ...firing, reason: reasonOf(definition, last ?? undefined, due, now), state: 'queued' };
      }
      case 'condition':
        return { ...firing, reason: 'condition: check passed (exit 0)', state: 'checking' };
      case 'event': {
        const { on, delivery } = definition;
        const event = await this.repository.eventAfter(tx, streamId, on!, order.event_cursor, scopedName, delivery);
        if (event === undefined) return { scopedName, lookAt: null };
        return { ...firing, reason: `event: ${event.count} ${on!} event(s)`, state: 'queued', event };
      }
      case 'webhook': {
        const waiting = await this.deliveries.next(tx, streamId, scopedName);
        if (waiting === undefined) return { scopedName, lookAt: null };
        const { hook, firing_id: id, vars } = waiting;
        const refused = await this.#refused(tx, streamId, order, waiting);
        if (refused !== undefined) {
          await this.deliveries.fired(tx, streamId, [id]);
          return { scopedName, lookAt: now, note: `webhook ${hook}: what has waited is dropped: ${refused}` };
        }
        return {
          ...firing,
          id,
          actor: `webhook:${hook}`,
          reason: `webhook ${hook}: it has waited`,
          vars,
          state: 'queued',
        };
      }
      default:
        return { scopedName, lookAt: null };
    }
  }
}

function putOff(
  { scoped_name: scopedName, definition, next_due_at: due }: OrderRow,
  now: Date,
  isStopped: boolean,
  note: string,
): OrderChange {
  const ms = isStopped ? STOPPED_MS : blockedFor(definition, due ?? undefined, now);
  return { scopedName, lookAt: new Date(now.getTime() + ms), note };
}

/**
 * How long a turn has taken. What has failed is left out: it comes first again in the next turn, and would keep the others from ever
 * having theirs.
 */
class TurnTime {
  #began = performance.now();

  constructor(private readonly signal?: AbortSignal) {}

  /** Whether it has taken longer than this, or is to end for another reason. */
  isOver(ms: number): boolean {
    return this.signal?.aborted === true || performance.now() - this.#began > ms;
  }

  /** What began then, and is over now, does not count. */
  leaveOut(since: number): void {
    this.#began += performance.now() - since;
  }
}
