import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ProblemError, problem, type ProblemName } from '../../../contract/problems.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import type { ClaimedOperation, OperationContext, OperationOutcome } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from '../../work/work/work.js';
import { WorkService } from '../../work/work/work.service.js';
import { aheadFor, BatchFormulas, type Ready } from './batch-formulas.js';
import { BatchPlans } from './batch-plans.js';
import { SlingBatch, type SlingBatchInput } from './sling-batches.operations.js';
import { SlingBatchesRepository, type Ended, type Portion } from './sling-batches.repository.js';
import { MAX_BATCH_STEPS, STEP, type SlingBatchResult } from './sling.schemas.js';

/** Said that often at the most: each is a write of its own. */
const TELL_MS = 500;

/** What no further try changes: with these the batch ends. What was slung by then stays. */
const FINAL: ReadonlySet<ProblemName> = new Set(['agent_not_found', 'rig_not_found', 'formula_not_found', 'invalid_request']);

/**
 * Carries out batches of many slings in steps. The beads of a step, their events, what became of each and how far the batch has come are one
 * transaction, so that each is slung once however often this is begun anew, and the city's other writers get in between.
 */
@Injectable()
export class SlingBatchesReconciler implements OnModuleInit {
  /** A test sets a smaller one. */
  step = STEP;

  constructor(
    private readonly operations: Operations,
    private readonly repository: SlingBatchesRepository,
    private readonly plans: BatchPlans,
    private readonly batch: BatchFormulas,
    private readonly work: WorkService,
    private readonly failpoints: Failpoints,
  ) {}

  onModuleInit(): void {
    this.operations.registerHandler({
      definition: SlingBatch,
      run: (operation, context) => this.#run(operation, context),
      failed: async (tx, { input: { streamId, requestId } }, code, message) => {
        await this.repository.end(tx, streamId, requestId, { status: 'failed', code, message });
        return [];
      },
    });
  }

  async #run({ input }: ClaimedOperation<SlingBatchInput>, context: OperationContext): Promise<OperationOutcome> {
    const { streamId, requestId } = input;
    const within = (ended: Ended): OperationOutcome['within'] => {
      return async (tx) => {
        await this.repository.end(tx, streamId, requestId, ended);
        return [];
      };
    };
    const failed = (code: string, message: string): OperationOutcome => {
      const status = code === 'canceled' ? code : 'failed';
      return { ok: false, code, message, within: within({ status, ...(status === 'failed' ? { code, message } : {}) }) };
    };
    // The first step of each attempt at once: what fails after it begins to be counted anew.
    let toldAt = -Infinity;
    const tell = async (done: number): Promise<void> => {
      if (performance.now() - toldAt < TELL_MS) return;
      await context.advanced(`slung ${done}`);
      toldAt = performance.now();
    };
    for (;;) {
      context.signal.throwIfAborted();
      const portion = await this.repository.portion(streamId, requestId, this.step);
      if (portion === undefined) throw new Error('a batch of slings has ended');
      const { done, total } = portion;
      const far = `done so far: ${done} of ${total}`;
      if (portion.canceled) return failed('canceled', `the batch was canceled; ${far}`);
      if (portion.beads.length === 0) return this.#over(input, within);
      const city = await this.repository.runningCity(streamId);
      if (city === undefined) return failed('city_not_running', `the city does not run any more; ${far}`);
      try {
        await this.#step(city, requestId, portion, tell);
      } catch (error) {
        if (error instanceof ProblemError && FINAL.has(error.problem)) return failed(error.problem, `${error.detail}; ${far}`);
        throw error;
      }
      await this.failpoints.hit('fan_out.after_step');
    }
  }

  async #over({ streamId, requestId }: SlingBatchInput, within: (ended: Ended) => OperationOutcome['within']): Promise<OperationOutcome> {
    const { total, slung, skipped } = (await this.repository.find(streamId, requestId))!;
    const status = slung === total ? 'slung' : slung === 0 ? 'refused' : 'partial';
    return { ok: true, payload: { status, total, slung, refused: total - slung, skipped }, within: within({ status }) };
  }

  /** Slings what comes next, unless somebody else has meanwhile, or it is canceled. Runs of a formula are launched one a transaction. */
  async #step(city: CityScope, requestId: string, portion: Portion, tell: (done: number) => Promise<void>): Promise<void> {
    const { formula, beads, done } = portion;
    if (formula === null) {
      await this.#sling(city, requestId, portion, undefined);
      return tell(done + beads.length);
    }
    const ready = await this.batch.readyFor(city, formula, beads, MAX_BATCH_STEPS);
    for (const [n, bead] of beads.entries()) {
      const one = await this.batch.readyAhead(city, [bead], ready, portion.asked.force ?? false);
      await this.#sling(city, requestId, { ...portion, beads: [bead], done: done + n }, one);
      await tell(done + n + 1);
    }
  }

  async #sling(city: CityScope, requestId: string, portion: Portion, ready: Ready | undefined): Promise<void> {
    const { asked, beads, done } = portion;
    const sling = async (work: Work): Promise<void> => {
      const now = await this.repository.next(work.tx, city.streamId, requestId, 0);
      if (now === undefined || now.canceled || now.done !== done) return;
      const plan = await this.plans.again(work, { asked, beads, convoy: portion.convoy ?? undefined });
      const name = plan.order.target.name;
      if (name !== asked.target) throw problem('agent_not_found', `target ${asked.target} not found: it is ${name} by now`);
      const results: SlingBatchResult[] = await this.batch.sling(work, beads, plan, ready);
      await this.repository.keep(work.tx, city.streamId, requestId, done, results);
    };
    await this.work.run(city, portion.actor, sling, { ahead: aheadFor(beads, ready) });
  }
}
