import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { ExecutionWorkAssociated } from '../../../../contract/events/execution.events.js';
import { problem } from '../../../../contract/problems.js';
import { event } from '../../../../platform/event-log/event.js';
import { ConvoysService } from '../../../work/convoys/convoys.service.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import type { BeadRecord } from '../../../work/work/bead-record.js';
import { isWait } from '../../../work/work/wait-states.js';
import type { Work } from '../../../work/work/work.js';
import { RunControl } from '../control/run-control.js';
import { RunEndings } from '../run-endings.service.js';
import type { LaunchedBy, RunRow } from '../run-row.js';
import { RunsRepository } from '../runs.repository.js';
import { EXECUTED_BY, namesIn, planOf, ROUTE, type Plan, type PlanInput } from './launch-plan.js';
import { tellSteps } from './step-events.js';

/** What is launched. Plain values: whoever has an open transaction on a city's work may launch. */
export interface LaunchOrder {
  /** From `RunPreparation.prepare`, made before the transaction. */
  readonly recipe: Recipe;
  readonly by: LaunchedBy;
  /** The names of the session that asks for it, if one does. */
  readonly askedBy?: readonly string[] | undefined;
  /** Whose formula it is, '' for the city's. Its beads are of this rig, or of the source's. */
  readonly rig: string;
  /** The canonical name of whom it goes to. A graph needs one, unless each of its steps names its own. */
  readonly target?: string | undefined;
  /** The id of the bead or convoy that it is attached to. */
  readonly source?: string | undefined;
  /** Of the root, instead of the formula's. */
  readonly title?: string | undefined;
  /** Ends what the source is worked on by already. */
  readonly force?: boolean | undefined;
  /** Added to the root. */
  readonly labels?: readonly string[] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** From `LaunchAhead.ready`: what the transaction has written before it waited for the city. */
  readonly ready?: ReadyLaunch | undefined;
}

/** What becomes of a launch as long as its city is as it was when it was made ready. */
export interface ReadyLaunch {
  readonly input: PlanInput;
  readonly plan: Plan;
}

export interface Launched {
  readonly run: RunRow;
  /** False: the same launch is there already, and nothing was written. */
  readonly created: boolean;
}

/** Writes runs of formulas: root, steps, edges, links and the run itself, in the transaction of the caller, or nothing of them. */
@Injectable()
export class LaunchService {
  constructor(
    private readonly repository: RunsRepository,
    private readonly endings: RunEndings,
    private readonly convoys: ConvoysService,
    private readonly roster: RosterService,
    private readonly control: RunControl,
  ) {}

  /**
   * Launches a recipe. A source has one live run of a formula: the same launch again answers that one. After a refusal the
   * transaction has to be given up, when `force` was given: what it ends is ended.
   *
   * @throws ProblemError rig_not_found; bead_not_found, wrong_state when the source is closed, or a wait; sling_source_conflict when it has another live run;
   * invalid_request for what has no place in beads, nobody to go to, or no input
   */
  async launch(work: Work, order: LaunchOrder): Promise<Launched> {
    const { recipe, ready } = order;
    const { source, live } = await this.#look(work, order);
    if (order.force !== true) {
      const same = live.find((run) => run.source_id === source!.id && isSame(run, order));
      if (same !== undefined) return { run: same, created: false };
      if (live.length > 0) throw conflict(source!.id, live);
    } else
      for (const run of live)
        await this.endings.end(work, run, { outcome: 'canceled', reason: `replaced by a launch of ${recipe.formula}` });
    const convoy = takesConvoy(order, source) ? await this.#inputOf(work, source, ready?.input.convoy) : undefined;
    const input = await this.#inputFor(work, order, source, convoy?.id);
    const plan = isFor(ready, input) ? ready.plan : planOf({ ...input, ids: await work.reserve(input.rig, recipe.steps.length) });
    return { run: await this.#write(work, order, plan, source, convoy), created: true };
  }

  /**
   * What a launch makes its beads of, as the city is now, with ids that are its own from now on. Undefined where it would make none.
   *
   * @throws ProblemError as `launch`
   */
  async foresee(work: Work, order: LaunchOrder): Promise<PlanInput | undefined> {
    const { source, live } = await this.#look(work, order);
    if (order.force !== true && live.length > 0) return undefined;
    const convoy = !takesConvoy(order, source)
      ? undefined
      : source.issue_type === 'convoy'
        ? source.id
        : await this.convoys.reserveInputConvoy(work, source);
    const input = await this.#inputFor(work, order, source, convoy);
    return { ...input, ids: await work.reserve(input.rig, order.recipe.steps.length) };
  }

  /** The bead or convoy that a run is for, and the runs that work on it. */
  async #look(work: Work, order: LaunchOrder): Promise<{ source: BeadRecord | undefined; live: RunRow[] }> {
    if (order.source === undefined) return { source: undefined, live: [] };
    const source = await this.#sourceOf(work, order.source, order.recipe);
    return { source, live: await this.repository.workingOn(work.tx, work.city.streamId, source.id) };
  }

  async #sourceOf(work: Work, id: string, { compiler, formula }: Recipe): Promise<BeadRecord> {
    const source = await work.require(id);
    if (source.status === 'closed')
      throw problem('wrong_state', compiler === 2 ? `formulas v2 target ${id} is closed` : `bead ${id} is closed; reopen it first`);
    if (source.run_id === source.id)
      throw problem('wrong_state', `bead ${id} is the root of a run of its own; ${formula} cannot be attached to it`);
    // The end of the run would end it, before what it waits for has happened.
    if (isWait(source)) throw problem('wrong_state', `bead ${id} is a wait, which is nobody's work; ${formula} cannot be attached to it`);
    return source;
  }

  /** The convoy that a graph works on: the one it is attached to, or one made for the bead. */
  async #inputOf(work: Work, source: BeadRecord, reserved: string | undefined): Promise<BeadRecord> {
    return source.issue_type === 'convoy' ? source : this.convoys.createInputConvoy(work, source, reserved);
  }

  /** Everything but the ids. */
  async #inputFor(work: Work, order: LaunchOrder, source: BeadRecord | undefined, convoy: string | undefined): Promise<Known> {
    const { recipe, rig, title, target, labels = [], metadata = {} } = order;
    const issue = source?.issue_type === 'convoy' ? undefined : source?.id;
    const given = new Map<string, string>();
    if (convoy !== undefined) given.set('convoy_id', convoy);
    if (issue !== undefined) given.set('issue', issue);
    const place = source !== undefined && (await work.hasRig(source.rig)) ? source.rig : rig;
    const names = namesIn(recipe.steps);
    const known = names.length === 0 ? [] : await this.roster.addresses(work.city.streamId, names, rig, work.tx);
    return {
      ...{ recipe, rig: place, title, target, convoy, labels, metadata, given },
      ...{ attached: source !== undefined, priority: source?.priority ?? undefined },
      names: new Map(known.flatMap(({ text, name }) => (name === null ? [] : [[text, name] as const]))),
    };
  }

  async #write(
    work: Work,
    order: LaunchOrder,
    plan: Plan,
    source: BeadRecord | undefined,
    convoy: BeadRecord | undefined,
  ): Promise<RunRow> {
    const { recipe } = order;
    const { streamId } = work.city;
    const rows = await work.createAll(plan.beads, plan.edges);
    const [root, ...steps] = rows;
    const run = await this.repository.insert(work.tx, streamId, {
      id: root!.id,
      formula: recipe.formula,
      formula_sha256: recipe.sources[0]!.sha256,
      compiler: recipe.compiler,
      root_only: recipe.root_only,
      launched_by: order.by,
      title: root!.title,
      rig: order.rig,
      target: order.target ?? null,
      source_id: source?.id ?? null,
      convoy_id: convoy?.id ?? null,
      vars: recipe.vars,
      asked_by: order.askedBy ?? null,
      steps: recipe.root_only ? 1 : steps.length,
      gates: steps.filter(({ issue_type: type, open_blockers: blockers }) => type === 'gate' && blockers === 0).length,
    });
    await this.repository.addControls(work.tx, streamId, run.id, plan.gates);
    if (source !== undefined) await this.#link(work, run, source);
    if (recipe.compiler === 2) {
      work.emit(event(ExecutionWorkAssociated, { ...work.facts(root!), subject: source?.id ?? run.id, run_id: run.id, payload: {} }));
      work.emitOf(plan.beads, rows, tellSteps);
    }
    const end = await this.control.begin(work, run, { ...recipe, steps: plan.steps }, steps);
    // Decided as it begins: nothing that happens later would end it.
    if (typeof end === 'object') await this.endings.finalize(work, run, end);
    return recipe.compiler === 1 ? run : (await this.repository.find(work.tx, streamId, run.id))!;
  }

  /** A bead says which run it is worked on by. What a graph does is offered to nobody beside it. */
  async #link(work: Work, { id, compiler, target }: RunRow, source: BeadRecord): Promise<void> {
    await work.update(source.id, {
      metadata:
        compiler === 1
          ? { molecule_id: id, workflow_id: '', [EXECUTED_BY]: '' }
          : { workflow_id: id, molecule_id: '', [ROUTE]: '', [EXECUTED_BY]: target ?? '' },
    });
  }
}

/** What a plan is made of, but for the ids. */
type Known = Omit<PlanInput, 'ids'>;

/** Whether a launch is still what it was when it was made ready. */
function isFor(ready: ReadyLaunch | undefined, now: Known): ready is ReadyLaunch {
  return ready !== undefined && isDeepStrictEqual({ ...now, ids: ready.input.ids }, ready.input);
}

/** A graph for something works on a convoy. */
function takesConvoy({ recipe }: LaunchOrder, source: BeadRecord | undefined): source is BeadRecord {
  return recipe.compiler === 2 && source !== undefined;
}

function isSame(run: RunRow, { recipe, target }: LaunchOrder): boolean {
  return run.formula === recipe.formula && run.target === (target ?? null) && isDeepStrictEqual(run.vars, recipe.vars);
}

function conflict(source: string, live: readonly RunRow[]): Error {
  const ids = live.map(({ id }) => id);
  return problem('sling_source_conflict', `source bead ${source} already has live workflow(s): ${ids.join(', ')}`, {
    errors: [
      { location: 'body.source_bead_id', message: 'has a live run', value: source },
      { location: 'body.blocking_workflow_ids', message: `are live: ${ids.join(', ')}`, value: ids },
      { location: 'body.hint', message: 'cancel them, or pass force to end them' },
    ],
  });
}
