import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { PREPARES, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { Work } from '../../work/work/work.js';
import { WorkService, type Done } from '../../work/work/work.service.js';
import { aheadFor, BatchFormulas, type Ready } from './batch-formulas.js';
import { BatchPlans, type BatchPlan } from './batch-plans.js';
import { batchAnswer, requireAll } from './batch-results.js';
import { eventsOf, Rehearsal } from './rehearsal.js';
import { SlingBatches } from './sling-batches.service.js';
import { SlingFormulas, type ChosenFormula } from './sling-formulas.js';
import { invalid } from './sling-order.js';
import {
  AT_ONCE,
  MAX_BATCH_STEPS,
  MAX_TOGETHER,
  MAX_TOGETHER_STEPS,
  STEP,
  type SlingBatchInputBody,
  type SlingBatchResponse,
  type SlingBatchResult,
} from './sling.schemas.js';

export const SLING_BATCH = 'sling-batch';
/** A process that dies leaves its key locked this long from its last step on. */
const HOLD_MS = 60_000;

interface Going {
  readonly ready: Ready | undefined;
  /** What became of the beads of earlier tries. */
  readonly before: readonly SlingBatchResult[];
  /** Keeps what became of all beads so far, in the transaction of a step. */
  readonly keep: (tx: Tx, results: readonly SlingBatchResult[]) => Promise<void>;
  readonly actor: string;
  /** The position of the log before. */
  readonly from: number;
}

interface Accepting {
  readonly plan: BatchPlan;
  readonly chosen: ChosenFormula | undefined;
  readonly ref: IdempotencyRef | undefined;
  readonly owner: string;
  readonly actor: string;
}

/** Slings many beads: each for itself, or all of them or none. */
@Injectable()
export class SlingBatchService {
  /** A test sets smaller ones. */
  atOnce = AT_ONCE;
  step = STEP;

  constructor(
    private readonly work: WorkService,
    private readonly rehearsal: Rehearsal,
    private readonly plans: BatchPlans,
    private readonly formulas: SlingFormulas,
    private readonly batch: BatchFormulas,
    private readonly batches: SlingBatches,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
  ) {}

  async sling(city: CityScope, body: SlingBatchInputBody, key: string | undefined, caller: Principal): Promise<Done<SlingBatchResponse>> {
    const dry = body.dry_run ?? false;
    const ref = dry ? undefined : idempotencyRef(caller, city.name, SLING_BATCH, key, body);
    if (!dry && !body.atomic) return this.#eachForItself(city, body, ref, caller);
    const [read] = await Promise.allSettled([this.#readyTogether(city, body, caller)]);
    const ready = read.status === 'fulfilled' ? read.value : undefined;
    // A repeat under a key is answered whatever has become of the formula.
    const together = async (w: Work): Promise<SlingBatchResponse> => {
      const sling = async (): Promise<{ status: number; body: SlingBatchResponse }> => {
        if (read.status === 'rejected') throw read.reason;
        return { status: 200, body: await this.#together(w, body, caller, dry, ready) };
      };
      return (await this.idempotency.run(w.tx, ref, sling)).body;
    };
    return this.rehearsal.run(city, caller.actor, dry, together, { ahead: aheadFor([...(ready?.keys() ?? [])], ready) });
  }

  /** Members of a convoy are read twice: what their formula is for each is made ready outside of the transaction that slings them. */
  async #readyTogether(city: CityScope, body: SlingBatchInputBody, caller: Principal): Promise<Ready | undefined> {
    if (body.target.trim() === '') return undefined;
    const chosen = await this.formulas.choose(city, body);
    if (chosen === undefined) return undefined;
    const { value: plan } = await this.work.run(city, caller.actor, (work) => this.#planTogether(work, body, caller), PREPARES);
    const ready = await this.batch.ready(city, chosen, plan.beads, MAX_TOGETHER_STEPS);
    return this.batch.readyAhead(city, plan.beads, ready, plan.order.force);
  }

  async #planTogether(work: Work, body: SlingBatchInputBody, { session }: Principal): Promise<BatchPlan> {
    const plan = await this.plans.read(work, body, session);
    if (plan.beads.length <= MAX_TOGETHER) return plan;
    throw invalid(`at most ${MAX_TOGETHER} beads can be slung with atomic or dry_run, not ${plan.beads.length}`, 'body');
  }

  async #together(
    work: Work,
    body: SlingBatchInputBody,
    caller: Principal,
    dry: boolean,
    ready: Ready | undefined,
  ): Promise<SlingBatchResponse> {
    const plan = await this.#planTogether(work, body, caller);
    const results = await this.batch.sling(work, plan.beads, plan, ready, dry);
    if (body.atomic) requireAll(results, body);
    return batchAnswer(plan, results, dry, dry ? eventsOf(work) : undefined);
  }

  /**
   * In steps, a transaction each, so that other writers of the city get in between. The key is held from the first to the last, and with each step goes
   * what has become of the beads: a repeat of a batch that broke off slings the rest, and takes nothing from who works on one by now.
   */
  async #eachForItself(
    city: CityScope,
    body: SlingBatchInputBody,
    ref: IdempotencyRef | undefined,
    { actor, session }: Principal,
  ): Promise<Done<SlingBatchResponse>> {
    const owner = randomUUID();
    const begun = await this.work.run(
      city,
      actor,
      async (work) => {
        const stored = ref && (await this.idempotency.hold(work.tx, ref, owner, HOLD_MS));
        if (stored !== undefined) return { answer: stored.body as SlingBatchResponse };
        const before = ((ref && (await this.idempotency.kept(work.tx, ref))) ?? []) as SlingBatchResult[];
        return { plan: await this.plans.read(work, body, session, before.length > 0), before };
      },
      PREPARES,
    );
    if (begun.value.plan === undefined) return { value: begun.value.answer, index: begun.index };
    const { before } = begun.value;
    const plan = without(begun.value.plan, before);
    try {
      const chosen = plan.beads.length === 0 ? undefined : await this.formulas.choose(city, body);
      const ready = chosen && (await this.#ready(city, chosen, plan, before.length > 0));
      if (plan.beads.length > this.atOnce) return await this.#accept(city, body, { plan, chosen, ref, owner, actor });
      const keep = async (tx: Tx, results: readonly SlingBatchResult[]): Promise<void> => {
        if (ref !== undefined) await this.idempotency.keep(tx, ref, owner, results, HOLD_MS);
      };
      const done = await this.#slingAll(city, plan, { ready, before, keep, actor, from: begun.index });
      if (ref !== undefined) await this.#store(ref, owner, done.value);
      return done;
    } catch (error) {
      await this.#release(ref, owner);
      throw error;
    }
  }

  #ready(city: CityScope, chosen: ChosenFormula, { beads }: BatchPlan, begun: boolean): Promise<Ready> {
    return begun ? this.batch.readyFor(city, chosen, beads, MAX_BATCH_STEPS) : this.batch.ready(city, chosen, beads, MAX_BATCH_STEPS);
  }

  async #slingAll(city: CityScope, plan: BatchPlan, { ready, before, keep, actor, from }: Going): Promise<Done<SlingBatchResponse>> {
    const results = [...before];
    let index = from;
    const step = ready === undefined ? this.step : 1;
    for (let at = 0; at < plan.beads.length; at += step) {
      const next = plan.beads.slice(at, at + step);
      const one = ready && (await this.batch.readyAhead(city, next, ready, plan.order.force));
      const sling = async (work: Work): Promise<SlingBatchResult[]> => {
        const some = await this.batch.sling(work, next, plan, one);
        await keep(work.tx, [...results, ...some]);
        return some;
      };
      const done = await this.work.run(city, actor, sling, { ahead: aheadFor(next, one) });
      index = done.index;
      results.push(...done.value);
    }
    return { value: batchAnswer(plan, results, false), index };
  }

  /** Leaves many to a worker: what the request means is decided here. */
  #accept(city: CityScope, body: SlingBatchInputBody, { plan, chosen, ref, owner, actor }: Accepting): Promise<Done<SlingBatchResponse>> {
    const {
      beads: _beads,
      convoy: _convoy,
      formula: _formula,
      title: _title,
      vars: _vars,
      no_formula: _none,
      atomic: _atomic,
      ...asked
    } = body;
    const { beads, skipped, convoy, order } = plan;
    const by = order.session === undefined ? {} : { session: order.session };
    return this.work.run(city, actor, async (work) => {
      const stored = ref && (await this.idempotency.regain(work.tx, ref, owner));
      if (stored !== undefined) return stored.body as SlingBatchResponse;
      const batch = { actor, asked: { ...asked, target: order.target.name, ...by }, formula: chosen, convoy, beads, skipped };
      const answer = await this.batches.accept(work, batch);
      if (ref !== undefined) await this.idempotency.store(work.tx, ref, { status: 202, body: answer });
      return answer;
    });
  }

  async #store(ref: IdempotencyRef, owner: string, body: SlingBatchResponse): Promise<void> {
    await this.transactions.run(async (tx) => {
      await this.idempotency.regain(tx, ref, owner);
      await this.idempotency.store(tx, ref, { status: 200, body });
    });
  }

  /** What has been slung stays: the repeat goes on behind it. A hold that cannot be given back ends by itself. */
  async #release(ref: IdempotencyRef | undefined, owner: string): Promise<void> {
    if (ref !== undefined) await this.transactions.run((tx) => this.idempotency.release(tx, ref, owner), PREPARES).catch(() => undefined);
  }
}

/** What is left of a batch of which some was slung or refused before. */
function without(plan: BatchPlan, before: readonly SlingBatchResult[]): BatchPlan {
  const known = new Set(before.map(({ bead }) => bead));
  const isLeft = (bead: string): boolean => !known.has(bead);
  return { ...plan, beads: plan.beads.filter(isLeft), skipped: plan.skipped.filter(isLeft) };
}
