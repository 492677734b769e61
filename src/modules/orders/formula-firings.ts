import { Injectable } from '@nestjs/common';
import { OrderCompleted } from '../../contract/events/orders.events.js';
import { ProblemError } from '../../contract/problems.js';
import { event } from '../../platform/event-log/event.js';
import { RosterService } from '../roster/roster.service.js';
import { resolveTarget } from '../roster/target.js';
import { LaunchService } from '../runs/launch/launch.service.js';
import { RunPreparation } from '../runs/launch/preparation.service.js';
import { WorkService } from '../work/work.service.js';
import { CONTROLLER, Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderTimes } from './order-times.js';
import type { FiringRow } from './order-rows.js';

/** The orders that launch formulas: the run and the end of its firing are one transaction, so that there is one of each or none. */
@Injectable()
export class FormulaFirings {
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
      const { definition, rig, vars, scoped_name: scopedName } = firing;
      const agents = definition.pool === undefined ? [] : await this.roster.agents(city.streamId);
      const target = definition.pool === undefined ? undefined : resolveTarget(agents, definition.pool, rig).name;
      const recipe = await this.preparation.prepare(city, { formula: definition.formula!, rig, vars, target });
      await this.work.run(city, `order:${scopedName}`, async (work) => {
        const order = await this.repository.lock(work.tx, city.streamId, scopedName);
        const now = await this.times.now();
        if (!(await this.repository.end(work.tx, firing.pk, worker, { outcome: 'success' }, now))) return;
        const metadata = { 'gc.order': scopedName, 'gc.order_firing': firing.id };
        const labels = [`order-run:${scopedName}`];
        const { run } = await this.launches.launch(work, { recipe, by: 'order', rig, target, labels, metadata });
        await this.repository.launched(work.tx, firing.pk, run.id);
        if (order !== undefined) await this.firings.settle(work.tx, city, firing, order, 'success', now);
        work.emit(event(OrderCompleted, { stream: city.stream, actor: CONTROLLER, subject: scopedName, run_id: run.id, payload: {} }));
      });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const named = { name: city?.name ?? '', streamId: firing.stream_id };
      await this.firings.end(named, firing, worker, { outcome: 'failed', error: error.detail });
    }
  }
}
