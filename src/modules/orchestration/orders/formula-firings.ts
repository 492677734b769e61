import { Injectable } from '@nestjs/common';
import { OrderCompleted } from '../../../contract/events/orders.events.js';
import { ProblemError } from '../../../contract/problems.js';
import { isTooSlow } from '../../../platform/database/pg-errors.js';
import { event } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { resolveTarget } from '../../configuration/roster/target.js';
import { isPassing } from '../../sessions/launch/passing.js';
import { aheadOf, LaunchAhead } from '../runs/launch/launch-ahead.service.js';
import { LaunchService, type LaunchOrder, type ReadyLaunch } from '../runs/launch/launch.service.js';
import { RunPreparation } from '../runs/launch/preparation.service.js';
import type { Work } from '../../work/work/work.js';
import { WorkService, type Part } from '../../work/work/work.service.js';
import { CONTROLLER, Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderTimes } from './order-times.js';
import type { FiringRow, OrderRow } from './order-rows.js';

/** Launches of one transaction, and about how many steps they have together. */
const TOGETHER = 16;
const STEPS = 2_000;

/** Why a formula was not launched. What passes (other work is in front of it, its city stops) ends nothing: what has fired it comes once. */
export interface Unlaunched {
  readonly passes: boolean;
  readonly error: string;
}

/** A launch that is prepared, and waits for the turn of its city. */
interface Prepared {
  readonly firing: FiringRow;
  readonly worker: string;
  readonly order: LaunchOrder;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * The orders that launch formulas: the run and the end of its firing are one transaction, so that there is one of each or none. One
 * transaction a city at a time: what is ready meanwhile goes into the next one together.
 */
@Injectable()
export class FormulaFirings {
  /** By city, as long as it has a turn. */
  readonly #waiting = new Map<number, Prepared[]>();

  constructor(
    private readonly preparation: RunPreparation,
    private readonly launches: LaunchService,
    private readonly ahead: LaunchAhead,
    private readonly work: WorkService,
    private readonly roster: RosterService,
    private readonly firings: Firings,
    private readonly repository: FiringsRepository,
    private readonly times: OrderTimes,
  ) {}

  /**
   * Launches the formula, and ends its firing with that. Undefined when it has, or the firing is another's by now.
   *
   * @throws what neither the formula is to blame for nor the moment: the lease runs out, and some tries later the firing is lost
   */
  async carryOut(firing: FiringRow, worker: string): Promise<Unlaunched | undefined> {
    try {
      const city = await this.repository.city(firing.stream_id);
      if (city === undefined) throw new ProblemError('city_not_found', 'the city is not registered any more');
      const { definition, rig, vars } = firing;
      const agents = definition.pool === undefined ? [] : await this.roster.agents(city.streamId);
      const target = definition.pool === undefined ? undefined : resolveTarget(agents, definition.pool, rig).name;
      const recipe = await this.preparation.prepare(city, { formula: definition.formula!, rig, vars, target });
      const metadata = { 'gc.order': firing.scoped_name, 'gc.order_firing': firing.id };
      const order: LaunchOrder = { recipe, by: 'order', rig, target, labels: [`order-run:${firing.scoped_name}`], metadata };
      await this.#inTurn(city, { firing, worker, order });
      return undefined;
    } catch (error) {
      // What took too long would do so each time.
      if (isPassing(error) && !isTooSlow(error)) return { passes: true, error: (error as Error).message };
      if (!(error instanceof ProblemError)) throw error;
      // As long as the city is registered the firing waits until it runs.
      const passes = error.problem === 'city_not_found' && (await this.repository.city(firing.stream_id)) !== undefined;
      return { passes, error: error.detail };
    }
  }

  #inTurn(city: CityScope, launch: Omit<Prepared, 'done'>): Promise<void> {
    const done = Promise.withResolvers<void>();
    const prepared = { ...launch, done };
    const waiting = this.#waiting.get(city.streamId);
    if (waiting !== undefined) waiting.push(prepared);
    else {
      this.#waiting.set(city.streamId, [prepared]);
      void this.#turns(city);
    }
    return done.promise;
  }

  async #turns(city: CityScope): Promise<void> {
    const waiting = this.#waiting.get(city.streamId)!;
    // In the order in which leases are renewed.
    const next = (): Prepared[] => waiting.splice(0, fitting(waiting)).sort((a, b) => a.firing.pk - b.firing.pk);
    while (waiting.length > 0) await this.#together(city, next());
    this.#waiting.delete(city.streamId);
  }

  /** Never fails: each learns what has become of it. */
  async #together(city: CityScope, all: readonly Prepared[]): Promise<void> {
    let orders: Promise<Map<string, OrderRow>> | undefined;
    const names = all.map(({ firing }) => firing.scoped_name);
    const part = (one: Prepared, ready: ReadyLaunch | undefined): Part<void> => ({
      actor: `order:${one.firing.scoped_name}`,
      ahead: aheadOf([ready]),
      body: async (work: Work): Promise<void> => {
        orders ??= this.repository.lockAll(work.tx, city.streamId, names);
        await this.#launch(work, { ...one, order: { ...one.order, ready } }, (await orders).get(one.firing.scoped_name));
      },
    });
    try {
      const ready = await this.ahead.ready(
        city,
        all.map(({ order }) => order),
      );
      await this.work.runAll(
        city,
        all.map((one, n) => part(one, ready[n])),
      );
      for (const { done } of all) done.resolve();
    } catch (error) {
      if (all.length === 1) return all[0]!.done.reject(error);
      // What cannot be launched takes nobody with it.
      for (const one of all) await this.#together(city, [one]);
    }
  }

  async #launch(work: Work, { firing, worker, order: launch }: Prepared, order: OrderRow | undefined): Promise<void> {
    const { city } = work;
    const { scoped_name: scopedName } = firing;
    const now = await this.times.now(work.tx);
    if (!(await this.repository.end(work.tx, firing, worker, { outcome: 'success' }, now))) return;
    const { run } = await this.launches.launch(work, launch);
    await this.repository.launched(work.tx, firing.pk, run.id);
    if (order !== undefined) await this.firings.settle(work.tx, city, firing, order, 'success', now);
    work.emit(event(OrderCompleted, { stream: city.stream, actor: CONTROLLER, subject: scopedName, run_id: run.id, payload: {} }));
  }
}

/** How many of them, from the first on, one transaction launches: at least one. */
function fitting(waiting: readonly Prepared[]): number {
  let steps = 0;
  const many = waiting.findIndex(({ order }) => (steps += order.recipe.steps.length) > STEPS);
  return Math.min(TOGETHER, many === -1 ? waiting.length : Math.max(1, many));
}
