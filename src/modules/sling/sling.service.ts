import { Injectable } from '@nestjs/common';
import type { Principal } from '../../contract/principal.js';
import { Idempotency } from '../../platform/idempotency/idempotency.js';
import type { CityScope } from '../cities/city-scope.js';
import { idempotencyRef } from '../cities/idempotency-ref.js';
import type { Work } from '../work/work.js';
import type { Done } from '../work/work.service.js';
import { eventsOf, Rehearsal } from './rehearsal.js';
import { SlingDispatch } from './sling-dispatch.js';
import { invalid } from './sling-order.js';
import { SlingOrders } from './sling-orders.js';
import type { SlingInputBody, SlingResponse } from './sling.schemas.js';

export const SLING = 'post-v0-city-by-city-name-sling';

/** Gives a bead to an agent or a pool. */
@Injectable()
export class SlingService {
  constructor(
    private readonly rehearsal: Rehearsal,
    private readonly orders: SlingOrders,
    private readonly dispatch: SlingDispatch,
    private readonly idempotency: Idempotency,
  ) {}

  /** Route, convoy and their events are one transaction. A dry run has no effect that a key could guard, so it takes none. */
  async sling(city: CityScope, body: SlingInputBody, key: string | undefined, caller: Principal): Promise<Done<SlingResponse>> {
    const dry = body.dry_run ?? false;
    const ref = dry ? undefined : idempotencyRef(caller, city.name, SLING, key, body);
    const work = async (w: Work): Promise<SlingResponse> =>
      (await this.idempotency.run(w.tx, ref, async () => ({ status: 200, body: await this.#sling(w, body, dry) }))).body;
    return this.rehearsal.run(city, caller.actor, dry, work);
  }

  async #sling(work: Work, body: SlingInputBody, dry: boolean): Promise<SlingResponse> {
    const order = await this.orders.read(work, body, () => {
      if (!body.bead) throw invalid('bead is required', 'body.bead');
    });
    const { bead, convoyId, changed, warnings } = await this.dispatch.sling(work, body.bead!, order);
    return {
      status: dry ? 'would_sling' : 'slung',
      target: order.target.name,
      bead,
      mode: 'direct',
      ...(convoyId === undefined ? {} : { convoy_id: convoyId }),
      changed,
      warnings,
      ...(dry ? { events: eventsOf(work) } : {}),
    };
  }
}
