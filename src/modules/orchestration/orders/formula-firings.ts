import { Injectable } from '@nestjs/common';
import { OrderCompleted } from '../../../contract/events/orders.events.js';
import { ProblemError } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Recipe } from '../formulas/compile/recipe.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { resolveTarget } from '../../configuration/roster/target.js';
import { LaunchService } from '../runs/launch/launch.service.js';
import { RunPreparation } from '../runs/launch/preparation.service.js';
import type { Work } from '../../work/work/work.js';
import { WorkService } from '../../work/work/work.service.js';
import { CONTROLLER, Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderTimes } from './order-times.js';
import type { FiringRow, OrderRow } from './order-rows.js';

/** Launches of one transaction. */
const TOGETHER = 16;

/** A launch that is prepared, and waits for the turn of its city. */
interface Prepared {
  readonly firing: FiringRow;
  readonly worker: string;
  readonly recipe: Recipe;
  readonly target: string | undefined;
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
    private readonly work: WorkService,
    private readonly roster: RosterService,
    private readonly firings: Firings,
    private readonly repository: FiringsRepository,
    private readonly times: OrderTimes,
  ) {}

  /** What is wrong with the formula, its variables or its target ends the firing as failed. */
  async carryOut(firing: FiringRow, worker: string): Promise<void> {
    const city = await this.repository.city(firing.stream_id);
    try {
      if (city === undefined) throw new ProblemError('city_not_found', 'the city is not registered any more');
      const { definition, rig, vars } = firing;
      const agents = definition.pool === undefined ? [] : await this.roster.agents(city.streamId);
      const target = definition.pool === undefined ? undefined : resolveTarget(agents, definition.pool, rig).name;
      const recipe = await this.preparation.prepare(city, { formula: definition.formula!, rig, vars, target });
      await this.#inTurn(city, { firing, worker, recipe, target });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const named = { name: city?.name ?? '', streamId: firing.stream_id };
      await this.firings.end(named, firing, worker, { outcome: 'failed', error: error.detail });
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
    const next = (): Prepared[] => waiting.splice(0, TOGETHER).sort((a, b) => a.firing.pk - b.firing.pk);
    while (waiting.length > 0) await this.#together(city, next());
    this.#waiting.delete(city.streamId);
  }

  /** Never fails: each learns what has become of it. */
  async #together(city: CityScope, all: readonly Prepared[]): Promise<void> {
    let orders: Promise<Map<string, OrderRow>> | undefined;
    const names = all.map(({ firing }) => firing.scoped_name);
    const parts = all.map((one) => ({
      actor: `order:${one.firing.scoped_name}`,
      body: async (work: Work): Promise<void> => {
        orders ??= this.repository.lockAll(work.tx, city.streamId, names);
        await this.#launch(work, one, (await orders).get(one.firing.scoped_name));
      },
    }));
    try {
      await this.work.runAll(city, parts);
      for (const { done } of all) done.resolve();
    } catch (error) {
      if (all.length === 1) return all[0]!.done.reject(error);
      // What cannot be launched takes nobody with it.
      for (const one of all) await this.#together(city, [one]);
    }
  }

  async #launch(work: Work, { firing, worker, recipe, target }: Prepared, order: OrderRow | undefined): Promise<void> {
    const { city } = work;
    const { scoped_name: scopedName, rig } = firing;
    const now = await this.times.now(work.tx);
    if (!(await this.repository.end(work.tx, firing.pk, worker, { outcome: 'success' }, now))) return;
    const metadata = { 'gc.order': scopedName, 'gc.order_firing': firing.id };
    const labels = [`order-run:${scopedName}`];
    const { run } = await this.launches.launch(work, { recipe, by: 'order', rig, target, labels, metadata });
    await this.repository.launched(work.tx, firing.pk, run.id);
    if (order !== undefined) await this.firings.settle(work.tx, city, firing, order, 'success', now);
    work.emit(event(OrderCompleted, { stream: city.stream, actor: CONTROLLER, subject: scopedName, run_id: run.id, payload: {} }));
  }
}
