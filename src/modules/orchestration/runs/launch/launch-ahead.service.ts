import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../../contract/problems.js';
import { PREPARES } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Ahead } from '../../../work/work/ahead.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { planOf, type PlanInput } from './launch-plan.js';
import { tellSteps } from './step-events.js';
import { LaunchService, type LaunchOrder, type ReadyLaunch } from './launch.service.js';

/**
 * Makes long launches ready, so that their city waits for little of them. To write 2,000 beads takes 200 ms, and with the city's lock all its
 * other writers wait for that. So their ids are reserved in a transaction of its own, and the transaction that launches writes them before
 * it takes the lock (`WorkOptions.ahead`). What is left behind the lock is to look whether all is as it was, the run and the events. It is all
 * or nothing as before: only the ids of a launch that comes to nothing are nobody's.
 */
@Injectable()
export class LaunchAhead {
  constructor(
    private readonly work: WorkService,
    private readonly launches: LaunchService,
  ) {}

  /**
   * For launches of one transaction, in their order: undefined for all when they are short together, and for one that would write nothing,
   * now or at all. Why that is so the launch itself says.
   *
   * @param isOver whether what launches them has been done already
   */
  async ready(
    city: CityScope,
    orders: readonly LaunchOrder[],
    isOver?: (work: Work) => Promise<boolean>,
  ): Promise<(ReadyLaunch | undefined)[]> {
    const steps = orders.reduce((sum, { recipe }) => sum + recipe.steps.length, 0);
    if (steps <= this.work.limits.few) return [];
    const { value: inputs } = await this.work.run(
      city,
      'launch',
      async (work) => {
        const foreseen: (PlanInput | undefined)[] = [];
        if (isOver !== undefined && (await unrefused(() => isOver(work))) !== false) return foreseen;
        for (const order of orders) foreseen.push(await unrefused(() => this.launches.foresee(work, order)));
        return foreseen;
      },
      PREPARES,
    );
    return Promise.all(inputs.map(async (input) => input && (await unrefused(() => ({ input, plan: planOf(input) })))));
  }
}

/** Undefined for what is refused. */
async function unrefused<T>(what: () => T | Promise<T>): Promise<Awaited<T> | undefined> {
  try {
    return await what();
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

/** What of them the transaction writes before it waits for the city. */
export function aheadOf(ready: readonly (ReadyLaunch | undefined)[]): Ahead[] {
  return ready.flatMap((one) =>
    one === undefined
      ? []
      : [{ beads: one.plan.beads, edges: one.plan.edges, ...(one.input.recipe.compiler === 2 ? { tells: tellSteps } : {}) }],
  );
}
