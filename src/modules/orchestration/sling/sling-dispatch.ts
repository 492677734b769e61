import { Injectable } from '@nestjs/common';
import { problem, ProblemError } from '../../../contract/problems.js';
import { ConvoysService } from '../../work/convoys/convoys.service.js';
import { DependenciesService } from '../../work/dependencies/dependencies.service.js';
import type { BeadChange, BeadRecord } from '../../work/work/bead-record.js';
import { heldByOther, requireNotOthers, requireOnTurn } from '../../work/work/held.js';
import type { Work } from '../../work/work/work.js';
import { objectionsTo, refusal, ROUTE, standing, type Objection, type Obstacles } from './sling-objections.js';
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

/** What speaks for slinging a bead, and against it. */
interface Looked {
  readonly bead: BeadRecord;
  readonly convoy: BeadRecord | undefined;
  /** Nothing has to be done for a convoy to follow it. */
  readonly followed: boolean;
  readonly obstacles: Obstacles;
  readonly objections: readonly Objection[];
}

/**
 * Gives beads to one target, inside a transaction on the city's work. Everything is checked before anything is
 * written: after a refusal the transaction may go on with other beads.
 */
@Injectable()
export class SlingDispatch {
  constructor(
    private readonly repository: SlingRepository,
    private readonly convoys: ConvoysService,
    private readonly dependencies: DependenciesService,
  ) {}

  /** @throws ProblemError sling_missing_bead, invalid_request, sling_cross_rig or sling_refused; forbidden for a session that would change what another one has under way */
  async sling(work: Work, id: string, order: SlingOrder): Promise<Slung> {
    const [slung] = await this.slingAll(work, [id], order);
    if (slung instanceof ProblemError) throw slung;
    return slung!;
  }

  /** Each of them for itself, in as many statements for a hundred as for one. Answers what became of each, in the given order: a refusal is one of those that `sling` throws. */
  async slingAll(work: Work, ids: readonly string[], order: SlingOrder): Promise<(Slung | ProblemError)[]> {
    const known = await this.#look(work, ids, order);
    const fit = [...known.values()].filter((one): one is Looked => !(one instanceof ProblemError));
    const followers = await this.#follow(work, fit, order);
    const after = new Map<string, BeadRecord>();
    for (const [key, same] of Map.groupBy(fit, ({ bead }) => order.reassign && bead.status === 'in_progress'))
      for (const bead of await work.updateAll(
        same.map(({ bead: { id } }) => id),
        changeTo(order, key),
      ))
        after.set(bead.id, bead);
    return ids.map((id) => {
      const one = known.get(id)!;
      if (one instanceof ProblemError) return one;
      const now = after.get(id)!;
      const changed = !one.followed || now.revision !== one.bead.revision;
      return { bead: id, convoyId: followers.get(id)?.id, changed, warnings: warningsOf(now, order, one.objections, one.obstacles) };
    });
  }

  /**
   * What a graph is launched for goes to nobody itself, and is done when the graph is. A session launches none for what is assigned to another
   * one, which may have begun it by the time the graph ends, nor for what it may not close itself.
   *
   * @throws ProblemError sling_missing_bead, sling_cross_rig, forbidden
   */
  async requireGraphTarget(work: Work, id: string, order: SlingOrder): Promise<void> {
    const bead = await work.find(id);
    if (bead === undefined) throw missing(id, `formulas v2 target ${id} not found`);
    requireNotOthers(order, bead);
    await requireOnTurn(order, work, bead);
    const other = order.force ? undefined : otherRig(bead, order);
    if (other !== undefined) throw other;
  }

  async #look(work: Work, ids: readonly string[], order: SlingOrder): Promise<ReadonlyMap<string, Looked | ProblemError>> {
    const beads = new Map((await work.findAll(ids)).map((bead) => [bead.id, bead]));
    const there = [...beads.keys()];
    const cycles = order.force ? new Map<string, string>() : await this.dependencies.cyclesThrough(work, there);
    const convoys = await this.convoys.liveSlingConvoys(work, there);
    const obstacles = await this.repository.obstacles(work.tx, work.city.streamId, there);
    const look = (id: string): Looked | ProblemError => {
      const bead = beads.get(id);
      if (bead === undefined) return missing(id, `bead ${id} not found`);
      const convoy = convoys.get(id);
      const objections = objectionsTo(bead, order);
      const looked = {
        ...{ bead, convoy, objections, obstacles: obstacles.get(id)! },
        followed: order.noConvoy || (convoy !== undefined && follows(convoy, bead, order)),
      };
      return refusalOf(looked, order, cycles.get(id)) ?? looked;
    };
    return new Map(ids.map((id) => [id, look(id)]));
  }

  /** The convoys that follow them, by the bead's id. */
  async #follow(work: Work, beads: readonly Looked[], order: SlingOrder): Promise<ReadonlyMap<string, BeadRecord>> {
    const followers = new Map<string, BeadRecord>();
    const bare: BeadRecord[] = [];
    for (const { bead, convoy, followed } of beads) {
      if (convoy === undefined && !followed) bare.push(bead);
      else if (convoy !== undefined) followers.set(bead.id, followed ? convoy : await this.#followAgain(work, bead, convoy, order));
    }
    if (bare.length > 0) for (const [id, convoy] of await this.convoys.createSlingConvoys(work, bare, order)) followers.set(id, convoy);
    return followers;
  }

  async #followAgain(work: Work, bead: BeadRecord, convoy: BeadRecord, { owned }: SlingOrder): Promise<BeadRecord> {
    await work.putEdge({ issue_id: convoy.id, depends_on_id: bead.id, type: 'tracks' });
    return work.update(convoy.id, owned ? { addLabels: [OWNED] } : {});
  }
}

/** Why a bead cannot be slung: the first reason counts. */
function refusalOf({ bead, objections, obstacles }: Looked, order: SlingOrder, cycle: string | undefined): ProblemError | undefined {
  const unreachable = notSingle(bead) ?? (order.force ? undefined : (otherRig(bead, order) ?? inCycle(cycle)));
  if (unreachable !== undefined) return unreachable;
  const stands = standing(objections, order);
  if (stands.length > 0) return refusal(bead, stands, obstacles);
  // Where it would change nothing, what is slung again is told where it is.
  return isAlready(bead, order) ? undefined : heldByOther(order, bead);
}

function isAlready({ metadata }: BeadRecord, { target, merge }: SlingOrder): boolean {
  return metadata[ROUTE] === target.name && (merge === undefined || metadata.merge_strategy === merge);
}

function missing(id: string, message: string): ProblemError {
  return problem('sling_missing_bead', message, { at: 'body.bead', value: id });
}

function otherRig(bead: BeadRecord, order: SlingOrder): ProblemError | undefined {
  const { target } = order;
  if (!isCrossRig(bead, order)) return undefined;
  return problem('sling_cross_rig', `bead ${bead.id} of rig ${bead.rig} cannot go to ${target.name} of rig ${target.rig}; pass force`, {
    errors: [{ location: 'bead.rig', message: 'is another rig than that of the target', value: bead.rig }],
  });
}

function inCycle(cycle: string | undefined): ProblemError | undefined {
  if (cycle === undefined) return undefined;
  return problem('invalid_request', `dependency cycle detected: ${cycle}`, {
    errors: [{ location: 'bead.dependencies', message: 'lead back to the bead', value: cycle }],
  });
}

function notSingle({ id, issue_type: type }: BeadRecord): ProblemError | undefined {
  const errors = [{ location: 'body.bead', message: `is of type ${type}`, value: id }];
  if (type === 'convoy') return problem('invalid_request', `bead ${id} is a convoy; POST …/sling/batch slings its members`, { errors });
  if (type === 'epic') return problem('invalid_request', `bead ${id} is an epic; first-class support is for convoys only`, { errors });
  return undefined;
}

/** `reopens`: it is taken from whoever has begun it. */
function changeTo({ target, merge, reassign }: SlingOrder, reopens: boolean): BeadChange {
  return {
    metadata: { [ROUTE]: target.name, ...(merge === undefined ? {} : { merge_strategy: merge }) },
    ...(reassign ? { assignee: null, ...(reopens ? { status: 'open' } : {}) } : {}),
  };
}

/** Whether the convoy that was made for the bead still tracks it, and is its owner's when that is asked for. */
function follows(convoy: BeadRecord, bead: BeadRecord, { owned }: SlingOrder): boolean {
  const tracks = convoy.snapshot.dependencies?.some(({ depends_on_id, type }) => depends_on_id === bead.id && type === 'tracks') ?? false;
  return tracks && (!owned || convoy.labels.includes(OWNED));
}
