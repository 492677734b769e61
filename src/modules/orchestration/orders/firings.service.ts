import { Injectable } from '@nestjs/common';
import { OrderCompleted, OrderFailed, OrderFired } from '../../../contract/events/orders.events.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { Signals } from '../../../platform/streams/signals.js';
import { dueAfter } from './due.js';
import { FiringsRepository, type OrderChange } from './firings.repository.js';
import { OrderTimes } from './order-times.js';
import type { ClaimedFiring, Ended, FiringRow, GivenBack, NewFiring, OrderRow, Outcome } from './order-rows.js';

/** What workers hear when a firing waits to be carried out. */
export const ORDERS_TOPIC = 'orders';
export const CONTROLLER = 'controller';

const OFF = 'the order was disabled or removed';

export interface FiringCity {
  readonly name: string;
  readonly streamId: number;
}

/** Firings from their beginning to their end: each step with what it changes of the order, and its event, in one transaction. */
@Injectable()
export class Firings {
  constructor(
    private readonly repository: FiringsRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly signals: Signals,
    private readonly times: OrderTimes,
  ) {}

  /**
   * Begins firings of orders whose rows the caller has locked. An order that has one open already is left as it is: who ends that
   * one looks at the order again. Answers those that began, and the events to append.
   */
  async begin(tx: Tx, city: FiringCity, firings: readonly NewFiring[], now: Date): Promise<{ began: Set<string>; events: NewEvent[] }> {
    const began = await this.repository.insert(tx, city.streamId, firings, now);
    const changes: OrderChange[] = [];
    const events: NewEvent[] = [];
    for (const { id, order, cause, state, event: handed, reason, forced } of firings) {
      const scopedName = order.scoped_name;
      if (!began.has(id)) {
        changes.push({ scopedName, lookAt: null });
        continue;
      }
      if (state === 'checking') {
        changes.push({ scopedName, lookAt: null });
        continue;
      }
      // A run by hand counts as one of its own: the next one comes an interval later.
      const due = dueAfter(order.definition, now, now) ?? null;
      const cursor = handed === undefined || handed === null ? {} : { eventCursor: handed.seq };
      // Whoever ends a forced one leaves the order to the one that holds it, or to its time.
      const lookAt = forced === true ? 'unheld' : null;
      changes.push({ scopedName, lookAt, lastStartedAt: now, nextDueAt: due, note: reason, ...cursor });
      events.push(
        event(OrderFired, { stream: city.name, actor: CONTROLLER, subject: scopedName, message: `${cause}: ${reason}`, payload: {} }),
      );
    }
    await this.repository.change(tx, city.streamId, changes);
    if (began.size > 0) this.signals.mark(tx, ORDERS_TOPIC);
    return { began, events };
  }

  /**
   * The check of a condition has passed: what it stands for begins, unless that may not be any more. False when it does not, or somebody
   * else has taken it over.
   */
  async passed(city: FiringCity, firing: FiringRow, worker: string): Promise<boolean> {
    return this.#withOrder(city, firing, async (tx, order) => {
      const isOff = order !== undefined && !(order.enabled && order.present);
      if (isOff || (await this.repository.isHeld(tx, firing))) {
        await this.#drop(tx, city, firing, worker, order, `not fired: ${isOff ? OFF : 'its city or its rig was stopped or suspended'}`);
        return false;
      }
      const now = await this.times.now(tx);
      if (!(await this.repository.passed(tx, firing, worker, now))) return false;
      const scopedName = firing.scoped_name;
      const note = 'condition: check passed (exit 0)';
      const due = order === undefined ? null : (dueAfter(order.definition, now, now) ?? null);
      await this.repository.change(tx, city.streamId, [{ scopedName, lookAt: null, lastStartedAt: now, nextDueAt: due, note }]);
      await this.eventLog.append(tx, [
        event(OrderFired, { stream: city.name, actor: CONTROLLER, subject: scopedName, message: note, payload: {} }),
      ]);
      return true;
    });
  }

  /** The check has said no: nothing is left of it but a note. */
  async refused(city: FiringCity, firing: FiringRow, worker: string | undefined, note: string): Promise<void> {
    await this.#withOrder(city, firing, (tx, order) => this.#drop(tx, city, firing, worker, order, note));
  }

  async #drop(
    tx: Tx,
    city: FiringCity,
    firing: FiringRow,
    worker: string | undefined,
    order: OrderRow | undefined,
    note: string,
  ): Promise<void> {
    if (!(await this.repository.drop(tx, firing, worker)) || order === undefined) return;
    const now = await this.times.now(tx);
    const isOn = order.enabled && order.present;
    const due = isOn ? (dueAfter(order.definition, now, now) ?? null) : null;
    const lookAt = isOn ? lookAfter(order, now, due) : null;
    await this.repository.change(tx, city.streamId, [{ scopedName: firing.scoped_name, lookAt, nextDueAt: due, note }]);
  }

  /** Its order is not to be fired any more: what has not begun does not begin. Nobody knows how far one came that has lost its worker. */
  async callOff(city: FiringCity, firing: ClaimedFiring, worker: string): Promise<void> {
    if (firing.state === 'checking') return this.refused(city, firing, worker, `not fired: ${OFF}`);
    const not = firing.token_hash === null ? 'not begun' : 'not begun again, and not known to have ended on the worker that had it before';
    await this.end(city, firing, worker, { outcome: 'canceled', error: `${not}: ${OFF}` });
  }

  /**
   * Ends a firing. False when it is another's by now, or has ended.
   *
   * @param worker whose it has to be; undefined for one whose lease has run out
   */
  async end(city: FiringCity, firing: FiringRow, worker: string | undefined, ended: Ended): Promise<boolean> {
    return this.#withOrder(city, firing, async (tx, order) => {
      const now = await this.times.now(tx);
      if (!(await this.repository.end(tx, firing, worker, ended, now))) return false;
      if (order !== undefined) await this.settle(tx, city, firing, order, ended.outcome, now);
      await this.eventLog.append(tx, [endedEvent(city, firing, ended)]);
      return true;
    });
  }

  /** What the end of a firing changes of its order. */
  async settle(tx: Tx, city: FiringCity, firing: FiringRow, order: OrderRow, outcome: Outcome, now: Date): Promise<void> {
    const next = firing.forced ? order.look_at : lookAfter(order, now, order.next_due_at);
    await this.repository.settle(tx, city.streamId, firing.scoped_name, outcome, next);
  }

  /**
   * Another worker is to carry it out: this one cannot now, or has died with something that may be done twice.
   *
   * @param unbegun its worker has begun nothing of it
   */
  async giveBack(city: FiringCity, firing: GivenBack, worker: string | undefined, unbegun = false): Promise<boolean> {
    return this.transactions.run(async (tx) => {
      const given = await this.repository.requeue(tx, firing, worker, unbegun);
      if (given) this.signals.mark(tx, ORDERS_TOPIC);
      return given;
    });
  }

  #withOrder<T>(city: FiringCity, firing: FiringRow, work: (tx: Tx, order: OrderRow | undefined) => Promise<T>): Promise<T> {
    return this.transactions.run(async (tx) => work(tx, await this.repository.lock(tx, city.streamId, firing.scoped_name)), {
      key: city.name,
    });
  }
}

/** When an order is looked at whose firing is over: an event or a delivery may wait already; everything else comes at its time. */
function lookAfter({ definition: { trigger } }: OrderRow, now: Date, due: Date | null): Date | null {
  return trigger === 'event' || trigger === 'webhook' ? now : due;
}

/** Characters of output in an event. */
const SHOWN = 2_000;
const LINES = 20;

function endedEvent(city: FiringCity, { scoped_name: subject, event: handed }: FiringRow, ended: Ended): NewEvent {
  const facts = { stream: city.name, actor: CONTROLLER, subject, payload: {} };
  if (ended.outcome === 'success') return event(OrderCompleted, facts);
  const output = lastLines(ended.output ?? '');
  const error = ended.error ?? ended.outcome;
  const message = `${handed === null ? '' : `seq=${handed.seq}: `}${error}${output === '' ? '' : `; output: ${output}`}`;
  return event(OrderFailed, { ...facts, message });
}

function lastLines(output: string): string {
  const trimmed = output.trimEnd();
  const lines = trimmed.split('\n').slice(-LINES).join('\n').slice(-SHOWN);
  return lines.length < trimmed.length ? `…${lines}` : lines;
}
