import { Injectable } from '@nestjs/common';
import type { SessionCaller } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { Work } from '../../work/work/work.js';
import { invalid, rigContext, toOrder, type SlingOrder } from './sling-order.js';
import type { SlingOptions } from './sling.schemas.js';
import { resolveTarget } from '../../configuration/roster/target.js';

/** Turns the options of a request into an order, by the roster as the transaction sees it. */
@Injectable()
export class SlingOrders {
  constructor(private readonly roster: RosterService) {}

  /**
   * `subject` checks what is slung: its place is between the target and the rest, and the first fault is the one that is told.
   *
   * @throws ProblemError invalid_request, agent_not_found or rig_not_found
   */
  async read(work: Work, options: SlingOptions, session: SessionCaller | undefined, subject: () => void): Promise<SlingOrder> {
    const { tx, city } = work;
    const text = options.target.trim();
    if (text === '') throw invalid('target agent or pool is required', 'body.target');
    const target = resolveTarget(await this.roster.agents(city.streamId, tx), text, rigContext(options));
    subject();
    const order = toOrder(options, target, city.name, session);
    if (options.rig && !(await this.roster.rigs(city.streamId, tx)).some((rig) => rig.name === options.rig))
      throw problem('rig_not_found', `rig ${options.rig} not found`);
    return order;
  }
}
