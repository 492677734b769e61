import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { ConvoysService } from '../../work/convoys/convoys.service.js';
import { DependenciesService } from '../../work/dependencies/dependencies.service.js';
import type { BeadChange, BeadRecord } from '../../work/work/bead-record.js';
import type { Work } from '../../work/work/work.js';
import { objectionsTo, refusal, ROUTE, standing } from './sling-objections.js';
import type { SlingOrder } from './sling-order.js';
import { isCrossRig, warningsOf } from './sling-warnings.js';
import { SlingRepository } from './sling.repository.js';
import type { SlingResponse } from './sling.schemas.js';

export interface Slung {
  readonly bead: string;
  /** The open convoy made for the bead. */
  readonly convoyId: string | undefined;
  readonly changed: boolean;
  readonly warnings: string[];
}

/** What was slung, as an answer says it. */
export type SlungSomething = Omit<SlingResponse, 'status' | 'target' | 'events'>;

export function direct({ bead, convoyId, changed, warnings }: Slung): SlungSomething {
  return { bead, mode: 'direct', ...(convoyId === undefined ? {} : { convoy_id: convoyId }), changed, warnings };
}

const OWNED = 'owned';

/**
 * Gives one bead to one target, inside a transaction on the city's work. Everything is checked before anything is
 * written: after a refusal the transaction may go on with other beads.
 */
@Injectable()
export class SlingDispatch {
  constructor(
    private readonly repository: SlingRepository,
    private readonly convoys: ConvoysService,
    private readonly dependencies: DependenciesService,
  ) {}

  /** @throws ProblemError sling_missing_bead, invalid_request, sling_cross_rig or sling_refused */
  async sling(work: Work, id: string, order: SlingOrder): Promise<Slung> {
    const bead = await work.find(id);
    if (bead === undefined) throw missing(id, `bead ${id} not found`);
    requireSingle(bead);
    if (!order.force) await this.#requireInReach(work, bead, order);
    const convoy = await this.convoys.liveSlingConvoy(work, id);
    const change = changeTo(bead, order);
    const followed = order.noConvoy || (convoy !== undefined && follows(convoy, bead, order));
    const obstacles = await this.repository.obstacles(work.tx, work.city.streamId, id);
    const objections = objectionsTo(bead, order);
    const stands = standing(objections, order);
    if (stands.length > 0) throw refusal(bead, stands, obstacles);
    const follower = followed ? convoy : await this.#follow(work, bead, convoy, order);
    const after = await work.update(id, change);
    const changed = !followed || after.revision !== bead.revision;
    return { bead: id, convoyId: follower?.id, changed, warnings: warningsOf(after, order, objections, obstacles) };
  }

  /** What a graph is launched for goes to nobody itself. @throws ProblemError sling_missing_bead, sling_cross_rig */
  async requireGraphTarget(work: Work, id: string, order: SlingOrder): Promise<void> {
    const bead = await work.find(id);
    if (bead === undefined) throw missing(id, `formulas v2 target ${id} not found`);
    if (!order.force) requireSameRig(bead, order);
  }

  async #requireInReach(work: Work, bead: BeadRecord, order: SlingOrder): Promise<void> {
    requireSameRig(bead, order);
    const cycle = await this.dependencies.cycleThrough(work, bead.id);
    if (cycle !== undefined)
      throw problem('invalid_request', `dependency cycle detected: ${cycle}`, {
        errors: [{ location: 'bead.dependencies', message: 'lead back to the bead', value: cycle }],
      });
  }

  async #follow(work: Work, bead: BeadRecord, convoy: BeadRecord | undefined, { owned }: SlingOrder): Promise<BeadRecord> {
    if (convoy === undefined) return this.convoys.createSlingConvoy(work, bead, { owned });
    await work.putEdge({ issue_id: convoy.id, depends_on_id: bead.id, type: 'tracks' });
    return work.update(convoy.id, owned ? { addLabels: [OWNED] } : {});
  }
}

function missing(id: string, message: string): Error {
  return problem('sling_missing_bead', message, { at: 'body.bead', value: id });
}

function requireSameRig(bead: BeadRecord, order: SlingOrder): void {
  const { target } = order;
  if (!isCrossRig(bead, order)) return;
  throw problem('sling_cross_rig', `bead ${bead.id} of rig ${bead.rig} cannot go to ${target.name} of rig ${target.rig}; pass force`, {
    errors: [{ location: 'bead.rig', message: 'is another rig than that of the target', value: bead.rig }],
  });
}

function requireSingle({ id, issue_type: type }: BeadRecord): void {
  const errors = [{ location: 'body.bead', message: `is of type ${type}`, value: id }];
  if (type === 'convoy') throw problem('invalid_request', `bead ${id} is a convoy; POST …/sling/batch slings its members`, { errors });
  if (type === 'epic') throw problem('invalid_request', `bead ${id} is an epic; first-class support is for convoys only`, { errors });
}

function changeTo(bead: BeadRecord, { target, merge, reassign }: SlingOrder): BeadChange {
  return {
    metadata: { [ROUTE]: target.name, ...(merge === undefined ? {} : { merge_strategy: merge }) },
    ...(reassign ? { assignee: null, ...(bead.status === 'in_progress' ? { status: 'open' } : {}) } : {}),
  };
}

/** Whether the convoy that was made for the bead still tracks it, and is its owner's when that is asked for. */
function follows(convoy: BeadRecord, bead: BeadRecord, { owned }: SlingOrder): boolean {
  const tracks = convoy.snapshot.dependencies?.some(({ depends_on_id, type }) => depends_on_id === bead.id && type === 'tracks') ?? false;
  return tracks && (!owned || convoy.labels.includes(OWNED));
}
