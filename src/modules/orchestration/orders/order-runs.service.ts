import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { newId } from '../../../platform/time/clock.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import { Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { isFireable, ordersOf, type EffectiveOrder } from './order-definition.js';
import { OpenFiringsRepository } from './open-firings.repository.js';
import { orderNamed } from './order-names.js';
import { OrderTimes } from './order-times.js';
import type { Cause, HandedEvent } from './order-rows.js';
import type { OrderRunInputBody, OrderRunOutputBody } from './orders.schemas.js';

export interface Asked {
  /** The id of the firing, where it was given away before. */
  readonly id?: string;
  readonly actor: string;
  readonly cause: Cause;
  readonly reason: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly force: boolean;
  readonly event?: HandedEvent | undefined;
}

/** Firings of an order that are open at once: a command that forces its own order twice would have twice as many each time. */
const MOST_OPEN = 100;

/** Firing an order because somebody asks for it: by hand, or from outside. */
@Injectable()
export class OrderRunsService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly firings: Firings,
    private readonly repository: FiringsRepository,
    private readonly open: OpenFiringsRepository,
    private readonly suspension: EffectiveSuspension,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
    private readonly times: OrderTimes,
  ) {}

  async run(
    city: CityScope,
    name: string,
    body: OrderRunInputBody,
    key: string | undefined,
    caller: Principal,
  ): Promise<{ status: number; body: OrderRunOutputBody }> {
    const ref = idempotencyRef(caller, city.name, 'run-order', key, { name, ...body });
    return this.transactions.run(
      async (tx) => {
        let events: readonly NewEvent[] = [];
        const answer = await this.idempotency.run(tx, ref, async () => {
          if (!(await this.reads.isRunning(city, tx))) throw notRunning(city.name);
          const current = await this.reads.known(city, tx);
          if (current === undefined) throw problem('unavailable', `the configuration of ${city.name} has not been composed yet`);
          const order = orderNamed(ordersOf(current.config), name);
          const { vars = {}, force = false } = body;
          const asked: Asked = { actor: caller.actor, cause: 'run', reason: `run by ${caller.actor}`, vars, force };
          const fired = await this.fire(tx, city, order, asked);
          events = fired.events;
          return { status: 202, body: { status: 'dispatched', scoped_name: order.scopedName, tracking_id: fired.id } };
        });
        await this.eventLog.append(tx, events);
        return answer;
      },
      { key: city.name },
    );
  }

  /**
   * Whether an order may be fired like that, whatever is carried out of it just now.
   *
   * @throws ProblemError order_rejected when it cannot be; wrong_state when its city or rig is suspended, or it is disabled
   */
  async admit(tx: Tx, city: CityScope, order: EffectiveOrder, asked: Asked): Promise<void> {
    const { scopedName, rig } = order;
    checkVars(order, asked.vars);
    if (!isFireable(order)) throw problem('wrong_state', `order "${scopedName}" cannot be fired: ${order.errors.join('; ')}`);
    if (!order.enabled && !asked.force) throw problem('wrong_state', `order "${scopedName}" is disabled`);
    const blocker = await this.suspension.blocker(city, { agent: undefined, rig }, undefined, tx);
    if (blocker !== undefined) throw problem('wrong_state', `order "${scopedName}" is not fired: ${blocker}`);
  }

  /**
   * Fires an order in the caller's transaction, who appends the events last.
   *
   * @throws ProblemError as `admit`; order_running while a firing of it is open; with force, while a hundred are
   */
  async fire(tx: Tx, city: CityScope, order: EffectiveOrder, asked: Asked): Promise<{ id: string; events: NewEvent[] }> {
    const { scopedName, definition, name, rig } = order;
    await this.admit(tx, city, order, asked);
    await this.repository.lock(tx, city.streamId, scopedName);
    if (asked.force) await this.#checkForced(tx, city, scopedName);
    else await this.open.dropUnbegunCheck(tx, city.streamId, scopedName);
    const now = await this.times.now(tx);
    const firing = {
      id: asked.id ?? newId('firing'),
      order: { scoped_name: scopedName, name, rig, definition },
      ...{ cause: asked.cause, actor: asked.actor, reason: asked.reason, vars: asked.vars, event: asked.event },
      ...{ forced: asked.force, state: 'queued' as const },
    };
    const { began, events } = await this.firings.begin(tx, city, [firing], now);
    if (!began.has(firing.id)) {
      const open = await this.open.find(tx, city.streamId, scopedName);
      // Nobody is shown a check, so nobody could wait for it by its id.
      if (open?.state === 'checking') throw problem('order_running', `the condition of order "${scopedName}" is being checked: try again`);
      throw problem('order_running', `order "${scopedName}" is being carried out: ${open?.id ?? 'a firing'} is open`);
    }
    return { id: firing.id, events };
  }

  async #checkForced(tx: Tx, city: CityScope, scopedName: string): Promise<void> {
    const open = await this.open.count(tx, city.streamId, scopedName, MOST_OPEN);
    if (open >= MOST_OPEN) throw problem('order_running', `order "${scopedName}" has ${MOST_OPEN} firings open: more cannot be forced`);
  }
}

const NAME = /^[A-Za-z_]\w{0,63}$/;

function checkVars({ scopedName, definition }: EffectiveOrder, vars: Readonly<Record<string, string>>): void {
  const missing = Object.entries(definition.params).flatMap(([name, { required }]) => (required === true && !vars[name] ? [name] : []));
  if (missing.length > 0) throw problem('order_rejected', `missing required param(s): ${missing.join(', ')}`, { at: 'body.vars' });
  const declared = Object.keys(definition.params).length > 0;
  const unknown = Object.keys(vars).filter((name) => !NAME.test(name) || (declared && !Object.hasOwn(definition.params, name)));
  if (definition.exec !== undefined && unknown.length > 0)
    throw problem('order_rejected', `order "${scopedName}" has no param(s): ${unknown.join(', ').slice(0, 300)}`, { at: 'body.vars' });
}
