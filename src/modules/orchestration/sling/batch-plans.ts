import { Injectable } from '@nestjs/common';
import type { SessionCaller } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { Work } from '../../work/work/work.js';
import { invalid, type SlingOrder } from './sling-order.js';
import { SlingOrders } from './sling-orders.js';
import { MAX_BATCH, type SlingBatchInputBody } from './sling.schemas.js';
import type { Asked } from './sling-batches.repository.js';
import { SlingRepository } from './sling.repository.js';

/** What a batch is going to sling, in this order. */
export interface BatchPlan {
  readonly order: SlingOrder;
  readonly beads: readonly string[];
  /** Closed members of the convoy. */
  readonly skipped: readonly string[];
  /** The convoy whose members they are. */
  readonly convoy: string | undefined;
}

@Injectable()
export class BatchPlans {
  constructor(
    private readonly orders: SlingOrders,
    private readonly repository: SlingRepository,
  ) {}

  /**
   * Of a batch of which something was done before, all members of the convoy may be closed by now.
   *
   * @throws ProblemError invalid_request, agent_not_found, rig_not_found or convoy_not_found
   */
  async read(work: Work, body: SlingBatchInputBody, session: SessionCaller | undefined, begun = false): Promise<BatchPlan> {
    const { beads, convoy } = body;
    const order = await this.orders.read(work, body, session, () => {
      if ((beads === undefined) === !convoy) throw invalid('exactly one of beads and convoy is required', 'body');
    });
    if (beads !== undefined) return { order, beads: [...new Set(beads)], skipped: [], convoy: undefined };
    return this.#ofConvoy(work, convoy!, order, begun);
  }

  /** As `read`, for some beads of a batch that was read before. */
  async again(work: Work, { asked, beads, convoy }: Pick<BatchPlan, 'beads' | 'convoy'> & { readonly asked: Asked }): Promise<BatchPlan> {
    const order = await this.orders.read(work, asked, asked.session, () => undefined);
    return { order: convoy === undefined ? order : ofConvoy(order), beads, skipped: [], convoy };
  }

  async #ofConvoy(work: Work, id: string, order: SlingOrder, begun: boolean): Promise<BatchPlan> {
    if (order.owned) throw invalid('owned is for convoys of single beads (cannot use with convoy)', 'body.owned');
    const convoy = await work.find(id);
    if (convoy === undefined) throw problem('convoy_not_found', `convoy ${id} not found`);
    if (convoy.issue_type === 'epic') throw invalid(`bead ${id} is an epic; first-class support is for convoys only`, 'body.convoy');
    if (convoy.issue_type !== 'convoy') throw invalid(`bead ${id} is not a convoy`, 'body.convoy');
    const members = await this.repository.members(work.tx, work.city.streamId, id, MAX_BATCH + 1);
    if (members.length > MAX_BATCH) throw invalid(`convoy ${id} has more than ${MAX_BATCH} members`, 'body.convoy');
    const open = members.filter((member) => !member.closed).map((member) => member.id);
    if (open.length === 0 && !begun) throw invalid(`convoy ${id} has no open members`, 'body.convoy');
    const skipped = members.filter((member) => member.closed).map((member) => member.id);
    return { order: ofConvoy(order), beads: open, skipped, convoy: id };
  }
}

/** Its members are followed by the convoy already: they get none of their own. */
const ofConvoy = (order: SlingOrder): SlingOrder => ({ ...order, noConvoy: true });
