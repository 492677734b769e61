import { ANYBODY, type Principal } from '../../../../contract/principal.js';
import { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import type { ClaimedOperation, OperationHandler, OperationOutcome } from '../../../../platform/operations/operation.js';
import type { Operations } from '../../../../platform/operations/operations.js';
import { newId } from '../../../../platform/time/clock.js';
import { IdempotencyRepository } from '../../../../platform/idempotency/idempotency.repository.js';
import type { WorkFixture } from '../../../../../test/support/work.js';
import { ConvoysRepository } from '../../../work/convoys/convoys.repository.js';
import { ConvoysService } from '../../../work/convoys/convoys.service.js';
import { DependenciesRepository } from '../../../work/dependencies/dependencies.repository.js';
import { DependenciesService } from '../../../work/dependencies/dependencies.service.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import type { BeadChange, BeadRecord, NewBead } from '../../../work/work/bead-record.js';
import type { Work } from '../../../work/work/work.js';
import type { Done, WorkService } from '../../../work/work/work.service.js';
import { problem } from '../../../../contract/problems.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { BatchFormulas } from '../batch-formulas.js';
import { BatchPlans } from '../batch-plans.js';
import { Rehearsal } from '../rehearsal.js';
import { SlingBatchService } from '../sling-batch.service.js';
import { SlingBatchesReconciler } from '../sling-batches.reconciler.js';
import { SlingBatchesRepository } from '../sling-batches.repository.js';
import { SlingBatches } from '../sling-batches.service.js';
import type { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { RunControlRepository } from '../../runs/control/control.repository.js';
import type { Signals } from '../../../../platform/streams/signals.js';
import { DrainsRepository } from '../../runs/drains/drains.repository.js';
import { DrainsService } from '../../runs/drains/drains.service.js';
import { RunControl } from '../../runs/control/run-control.js';
import { LaunchAhead } from '../../runs/launch/launch-ahead.service.js';
import { LaunchService } from '../../runs/launch/launch.service.js';
import { RunPreparation, type Wanted } from '../../runs/launch/preparation.service.js';
import { recipeOf } from '../../runs/testing/launches.js';
import { RunEndings } from '../../runs/run-endings.service.js';
import { RunsRepository } from '../../runs/runs.repository.js';
import { SlingFormulas } from '../sling-formulas.js';
import { SlingDispatch } from '../sling-dispatch.js';
import { SlingOrders } from '../sling-orders.js';
import { SlingRepository } from '../sling.repository.js';
import {
  MAX_BATCH,
  STEP,
  type SlingBatchInputBody,
  type SlingBatchResponse,
  type SlingInputBody,
  type SlingResponse,
} from '../sling.schemas.js';
import { SlingService } from '../sling.service.js';

export interface Slings {
  sling(body: SlingInputBody, key?: string, caller?: Principal): Promise<Done<SlingResponse>>;
  batch(body: SlingBatchInputBody, key?: string, caller?: Principal): Promise<Done<SlingBatchResponse>>;
  /** Batches that are left to workers. */
  readonly batches: SlingBatches;
  /** Carries one out as a worker does, up to its end; answers how that was told. */
  carryOut(requestId: string): Promise<OperationOutcome>;
}

/** How much is done at once. */
export interface AtOnce {
  /** In one transaction. */
  readonly step?: number;
  /** More is left to workers. */
  readonly most?: number;
}

/** A city whose configuration was never composed: no agent works by a formula. */
const NO_CONFIG = { known: () => Promise.resolve(undefined) } as unknown as ConfigReadsService;

/** Formulas of a fixture by their names, and those that agents work by. */
export interface Shelf {
  readonly texts: Readonly<Record<string, string>>;
  readonly defaults?: Readonly<Record<string, string>>;
}

/** Formulas as a city would have them, without its files. */
class Shelved extends RunPreparation {
  constructor(
    private readonly shelf: Shelf,
    private readonly runs: RunsRepository,
  ) {
    super(NO_CONFIG, runs, undefined as never);
  }

  override async prepare(city: { streamId: number }, { formula, vars, source }: Wanted): Promise<Recipe> {
    const text = this.shelf.texts[formula];
    if (text === undefined) throw problem('formula_not_found', `formula ${formula} not found`);
    const issue = source === undefined ? undefined : await this.runs.workBead(city.streamId, source);
    try {
      return recipeOf(text, { ...vars, ...(issue === undefined ? {} : { issue }) }, this.shelf.texts);
    } catch (error) {
      throw problem('invalid_request', `formula ${formula} cannot be used: ${(error as Error).message}`, { at: 'body.formula' });
    }
  }

  override defaultOf(_city: unknown, agent: string): Promise<string | undefined> {
    return Promise.resolve(this.shelf.defaults?.[agent]);
  }
}

/** One process's sling services on a fixture, over `work`. */
export function slings(
  fixture: WorkFixture,
  work: WorkService = fixture.work,
  shelf: Shelf = { texts: {} },
  { step = STEP, most = MAX_BATCH }: AtOnce = {},
): Slings {
  const repository = new SlingRepository();
  const rehearsal = new Rehearsal(work, repository);
  const orders = new SlingOrders(new RosterService(new RosterRepository(fixture.db)));
  const idempotency = new Idempotency(new IdempotencyRepository());
  const convoys = new ConvoysService(new ConvoysRepository(fixture.db), work, idempotency);
  const dispatch = new SlingDispatch(repository, convoys, new DependenciesService(new DependenciesRepository(fixture.db), work));
  const runs = new RunsRepository(fixture.db);
  const roster = new RosterService(new RosterRepository(fixture.db));
  const preparation = new Shelved(shelf, runs);
  const endings = new RunEndings(runs);
  const drains = new DrainsService(new DrainsRepository(), convoys, endings);
  const signals = { mark: () => undefined } as unknown as Signals;
  const control = new RunControl(new RunControlRepository(), runs, roster, drains, signals);
  const launching = new LaunchService(runs, endings, convoys, roster, control);
  const formulas = new SlingFormulas(roster, preparation, launching, dispatch, new LaunchAhead(work, launching));
  const single = new SlingService(rehearsal, orders, dispatch, formulas, idempotency);
  const plans = new BatchPlans(orders, repository);
  const ready = new BatchFormulas(formulas, dispatch);
  let handler: OperationHandler | undefined;
  const operations = {
    newRequestId: () => newId('req'),
    accept: () => Promise.resolve({}),
    registerHandler: (registered: OperationHandler) => (handler = registered),
  } as unknown as Operations;
  const stored = new SlingBatchesRepository(fixture.db);
  const batches = new SlingBatches(work, stored, operations);
  const batch = new SlingBatchService(work, rehearsal, plans, formulas, ready, batches, idempotency, fixture.transactions);
  const reconciler = new SlingBatchesReconciler(operations, stored, plans, ready, work, fixture.failpoints);
  batch.atOnce = most;
  batch.step = reconciler.step = step;
  reconciler.onModuleInit();
  return {
    sling: (body, key, caller = ANYBODY) => single.sling(fixture.city, body, key, caller),
    batch: (body, key, caller = ANYBODY) => batch.sling(fixture.city, body, key, caller),
    batches,
    carryOut: async (requestId) => {
      const input = { streamId: fixture.city.streamId, requestId };
      const ignored = (): Promise<undefined> => Promise.resolve(undefined);
      const context = { signal: new AbortController().signal, progress: ignored, progressWith: ignored, advanced: ignored };
      const outcome = await handler!.run({ input } as ClaimedOperation, context);
      await fixture.transactions.run(async (tx) => outcome.within?.(tx));
      return outcome;
    },
  };
}

/** Short hands for what tests do to a fixture's beads. */
export function hands(fixture: WorkFixture) {
  const run = <T>(body: (work: Work) => Promise<T>): Promise<T> =>
    fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
  return {
    run,
    create: (more: Partial<NewBead> = {}, change: BeadChange = {}): Promise<string> =>
      run(async (work) => {
        const { id } = await work.create({ rig: '', title: 'x', ...more });
        return (await work.update(id, change)).id;
      }),
    edge: (from: string, to: string, type = 'blocks'): Promise<boolean> =>
      run((work) => work.putEdge({ issue_id: from, depends_on_id: to, type })),
    bead: (id: string): Promise<BeadRecord> => run((work) => work.require(id)),
    change: (id: string, change: BeadChange): Promise<BeadRecord> => run((work) => work.update(id, change)),
    close: (id: string): Promise<BeadRecord> => run((work) => work.close(id)),
    /** Events of `body`, as `type subject`. */
    eventsOf: async (body: () => Promise<unknown>): Promise<string[]> => {
      const at = (await fixture.events()).at(-1)?.seq ?? 0;
      await body();
      return (await fixture.events(at)).map((event) => `${event.type} ${event.subject}`);
    },
  };
}
