import { createHash } from 'node:crypto';
import type { WorkFixture } from '../../../../../test/support/work.js';
import type { DuePoller } from '../../../../platform/database/due-poller.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../../platform/idempotency/idempotency.repository.js';
import { ConvoysRepository } from '../../../work/convoys/convoys.repository.js';
import { ConvoysService } from '../../../work/convoys/convoys.service.js';
import { compile } from '../../formulas/compile/compile.js';
import type { Library } from '../../formulas/compile/library.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { MailAddresses } from '../../../work/mail/mail-addresses.service.js';
import { MailRepository } from '../../../work/mail/mail.repository.js';
import { MailSendingService } from '../../../work/mail/mail-sending.service.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import type { Work } from '../../../work/work/work.js';
import type { WorkService } from '../../../work/work/work.service.js';
import { ContinuationsReconciler } from '../control/continuations.reconciler.js';
import { ContinuationsRepository } from '../control/continuations.repository.js';
import { RunControlRepository } from '../control/control.repository.js';
import type { Signals } from '../../../../platform/streams/signals.js';
import { RunControl, type GoOnLimits } from '../control/run-control.js';
import { DrainsRepository } from '../drains/drains.repository.js';
import { DrainsService } from '../drains/drains.service.js';
import { aheadOf, LaunchAhead } from '../launch/launch-ahead.service.js';
import { LaunchService, type Launched, type LaunchOrder } from '../launch/launch.service.js';
import { GateOpening } from '../gates/gate-opening.service.js';
import { GatesReconciler } from '../gates/gates.reconciler.js';
import { GatesRepository } from '../gates/gates.repository.js';
import { LimitsReconciler } from '../limits/limits.reconciler.js';
import { LimitsRepository } from '../limits/limits.repository.js';
import { RunEndings } from '../run-endings.service.js';
import { RunKeeper } from '../run-keeper.js';
import type { RunRow } from '../run-row.js';
import { RunsRepository } from '../runs.repository.js';

/** The recipe of a formula, with `others` beside it by their names, and any script. */
export function recipeOf(text: string, vars: Readonly<Record<string, string>> = {}, others: Readonly<Record<string, string>> = {}): Recipe {
  const name = /^formula = "([^"]+)"/m.exec(text)![1]!;
  const library: Library = {
    formula: (each) => {
      const found = each === name ? text : others[each];
      const sha256 = createHash('sha256')
        .update(found ?? '')
        .digest('hex');
      return found === undefined ? undefined : { name: each, file: `formulas/${each}.toml`, sha256, text: found };
    },
    beside: (_from, path) => ({ file: path, sha256: '' }),
  };
  const { recipe, issues } = compile(name, library, { vars, injected: {}, strict: true, compiler: '2.0.0' });
  if (recipe === undefined) throw new Error(issues.map(({ key, message }) => `${key} ${message}`).join('; '));
  return recipe;
}

const A_SECOND = 1_000;

export interface Launches {
  readonly service: LaunchService;
  readonly ahead: LaunchAhead;
  readonly endings: RunEndings;
  readonly repository: RunsRepository;
  /** How much of a run one transaction does, however long that takes here, and a second before the next. */
  readonly limits: GoOnLimits;
  readonly work: WorkService;
  readonly sending: MailSendingService;
  /** Opens as many gates in a transaction as it may, however long that takes here. */
  readonly opening: GateOpening;
  /** Looks at the gates that are due. */
  sweep(): Promise<number>;
  /** Opens the gates that have heard of their message. */
  sweepHeard(): Promise<number>;
  /** Ends the rounds that are late. */
  sweepLimits(): Promise<number>;
  /** Goes on with the runs that had more to decide than one transaction does: one step of a city. */
  sweepContinuations(resting?: Map<number, number>): Promise<number>;
  /** The same, turn after turn, until none comes within a second. */
  goOn(signal: AbortSignal): Promise<void>;
  launch(order: Omit<LaunchOrder, 'by' | 'rig'> & Partial<LaunchOrder>): Promise<RunRow & { created: boolean }>;
  run(id: string): Promise<RunRow | undefined>;
}

/** One process's launches on a fixture, with what follows for runs from changes of beads. */
export function launches(fixture: WorkFixture, work: WorkService = fixture.work): Launches {
  const repository = new RunsRepository(fixture.db);
  const roster = new RosterService(new RosterRepository(fixture.db));
  const idempotency = new Idempotency(new IdempotencyRepository());
  const endings = new RunEndings(repository);
  const convoys = new ConvoysService(new ConvoysRepository(fixture.db), work, idempotency);
  const drains = new DrainsService(new DrainsRepository(), convoys, endings);
  drains.onModuleInit();
  const control = new RunControl(new RunControlRepository(), repository, roster, drains, { mark: () => undefined } as unknown as Signals);
  control.limits = { ...control.limits, ms: Infinity, rest: () => A_SECOND };
  const service = new LaunchService(repository, endings, convoys, roster, control);
  const ahead = new LaunchAhead(work, service);
  const keeper = new RunKeeper(work, repository, endings, control);
  keeper.onModuleInit();
  const gates = new GatesRepository(fixture.db);
  const sending = new MailSendingService(work, new MailAddresses(roster), new MailRepository(), idempotency);
  const opening = new GateOpening(gates, endings, sending);
  opening.longestMs = Infinity;
  opening.onModuleInit();
  const log = new AppLogger(createLogger('silent'));
  const reconciler = new GatesReconciler(gates, opening, work, log, {} as DuePoller);
  const continuations = new ContinuationsReconciler(new ContinuationsRepository(fixture.db), keeper, work, log, {} as DuePoller);
  const limits = new LimitsReconciler(new LimitsRepository(fixture.db), work, log, {} as DuePoller);
  return {
    service,
    ahead,
    endings,
    repository,
    limits: control.limits,
    work,
    sending,
    opening,
    sweep: () => reconciler.sweep(),
    sweepHeard: () => reconciler.sweepHeard(),
    sweepLimits: () => limits.sweep(),
    sweepContinuations: (resting) => continuations.sweep(undefined, resting),
    goOn: (signal) => continuations.goOn(signal),
    launch: async (order) => {
      const asked: LaunchOrder = { by: 'sling', rig: '', ...order };
      const [ready] = await ahead.ready(fixture.city, [asked]);
      const launch = (w: Work): Promise<Launched> => service.launch(w, { ...asked, ready });
      const { value } = await work.run(fixture.city, 'api', launch, { ahead: aheadOf([ready]) });
      return { ...value.run, created: value.created };
    },
    run: (id) => fixture.db.transaction().execute((tx) => repository.find(tx, fixture.city.streamId, id)),
  };
}
