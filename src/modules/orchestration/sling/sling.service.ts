import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { Work } from '../../work/work/work.js';
import type { Done } from '../../work/work/work.service.js';
import { aheadOf } from '../runs/launch/launch-ahead.service.js';
import { eventsOf, Rehearsal } from './rehearsal.js';
import { direct, SlingDispatch } from './sling-dispatch.js';
import { SlingFormulas, type SlingFormula } from './sling-formulas.js';
import { invalid } from './sling-order.js';
import { SlingOrders } from './sling-orders.js';
import type { SlingInputBody, SlingResponse } from './sling.schemas.js';

export const SLING = 'post-v0-city-by-city-name-sling';

/** Gives a bead, or a formula, to an agent or a pool. */
@Injectable()
export class SlingService {
  constructor(
    private readonly rehearsal: Rehearsal,
    private readonly orders: SlingOrders,
    private readonly dispatch: SlingDispatch,
    private readonly formulas: SlingFormulas,
    private readonly idempotency: Idempotency,
  ) {}

  /** Route, convoy and their events are one transaction. A dry run has no effect that a key could guard, so it takes none. */
  async sling(city: CityScope, body: SlingInputBody, key: string | undefined, caller: Principal): Promise<Done<SlingResponse>> {
    const dry = body.dry_run ?? false;
    const ref = dry ? undefined : idempotencyRef(caller, city.name, SLING, key, body);
    const isOver = async (w: Work): Promise<boolean> => ref !== undefined && (await this.idempotency.lookup(w.tx, ref)) !== undefined;
    const [read] = await Promise.allSettled([this.formulas.read(city, body)]);
    const asked = read.status === 'fulfilled' && read.value !== undefined ? [read.value] : [];
    const [ready] = await this.formulas.ready(city, asked, body.force ?? false, isOver);
    // A repeat under a key is answered whatever has become of the formula.
    const formula = (): SlingFormula | undefined => {
      if (read.status === 'rejected') throw read.reason;
      return ready;
    };
    const work = async (w: Work): Promise<SlingResponse> =>
      (await this.idempotency.run(w.tx, ref, async () => ({ status: 200, body: await this.#sling(w, body, caller, formula(), dry) }))).body;
    return this.rehearsal.run(city, caller.actor, dry, work, { ahead: aheadOf([ready?.ready]) });
  }

  async #sling(
    work: Work,
    body: SlingInputBody,
    { session }: Principal,
    formula: SlingFormula | undefined,
    dry: boolean,
  ): Promise<SlingResponse> {
    const order = await this.orders.read(work, body, session, () => {
      if (formula === undefined && !body.bead) throw invalid('bead or formula is required', 'body.bead');
    });
    const slung =
      formula === undefined ? direct(await this.dispatch.sling(work, body.bead!, order)) : await this.formulas.launch(work, order, formula);
    return { status: dry ? 'would_sling' : 'slung', target: order.target.name, ...slung, ...(dry ? { events: eventsOf(work) } : {}) };
  }
}
