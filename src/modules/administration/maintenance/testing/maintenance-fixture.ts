import { ConfigFixture } from '../../../../../test/support/config-fixture.js';
import { loadConfig } from '../../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import type { DuePoller } from '../../../../platform/database/due-poller.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import type { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../../platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import type { Signals } from '../../../../platform/streams/signals.js';
import { describeIssue } from '../../../files/composition/issue.js';
import { Following } from '../../../configuration/config/following.js';
import { FollowingRepository } from '../../../configuration/config/following.repository.js';
import { LaunchRepository } from '../../../sessions/launch/launch.repository.js';
import { SessionFolders } from '../../../sessions/launch/session-folders.js';
import { MailAddresses } from '../../../work/mail/mail-addresses.service.js';
import { MailRepository } from '../../../work/mail/mail.repository.js';
import { MailSendingService } from '../../../work/mail/mail-sending.service.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import { RunRetention } from '../../../orchestration/runs/run-retention.service.js';
import { RunsRepository } from '../../../orchestration/runs/runs.repository.js';
import { SessionDeletionsRepository } from '../../../sessions/sessions/session-deletions.repository.js';
import { SessionRetention } from '../../../sessions/sessions/session-retention.service.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { WorkService } from '../../../work/work/work.service.js';
import { Cycle } from '../cycle.js';
import type { CycleRow } from '../cycle-row.js';
import { Cycles } from '../cycles.service.js';
import { CyclesRepository } from '../cycles.repository.js';
import { Disk } from '../../../../platform/disk/disk.js';
import { DiskWatch } from '../disk-watch.js';
import { DiskWatchRepository } from '../disk-watch.repository.js';
import { MaintenanceReconciler } from '../maintenance.reconciler.js';
import { Pruning } from '../pruning.js';
import { SettingsSync } from '../settings-sync.js';
import { SettingsSyncRepository } from '../settings-sync.repository.js';
import { StoreLook } from '../store-look.js';
import { StoreRepository } from '../store.repository.js';

const PLENTY = 1e15;

/** One worker's worth of maintenance. */
export class MaintenanceProcess {
  readonly db: Db;
  readonly repository: CyclesRepository;
  readonly cycles: Cycles;
  readonly cycle: Cycle;
  readonly sync: SettingsSync;
  readonly watch: DiskWatch;
  readonly disk: Disk;
  readonly store: StoreRepository;
  readonly look: StoreLook;
  readonly work: WorkService;
  readonly runs: RunRetention;
  readonly pruning: Pruning;
  readonly reconciler: MaintenanceReconciler;
  readonly #transactions: Transactions;

  constructor(fixture: ConfigFixture) {
    const db = createDb(createPool(fixture.database.url, { max: 6 }));
    const log = new AppLogger(createLogger('silent'));
    const events = new EventLog(new MovedStreams());
    const transactions = new Transactions(db, new Failpoints());
    const work = new WorkService(transactions, events, new WorkRepository());
    const roster = new RosterService(new RosterRepository(db));
    const idempotency = new Idempotency(new IdempotencyRepository());
    const sending = new MailSendingService(work, new MailAddresses(roster), new MailRepository(), idempotency);
    const signals = { mark: () => undefined } as unknown as Signals;
    this.work = work;
    this.runs = new RunRetention(new RunsRepository(db), work);
    this.pruning = new Pruning(
      this.runs,
      new SessionRetention(new SessionDeletionsRepository(db), log),
      new SessionFolders(new LaunchRepository(db)),
    );
    this.db = db;
    this.#transactions = transactions;
    this.repository = new CyclesRepository(db);
    this.cycles = new Cycles(this.repository, transactions, events, work, sending, signals, log);
    this.disk = new Disk(loadConfig({ SVC_DATABASE_URL: fixture.database.url, SVC_DISK_WARN_MB: '2', SVC_DISK_FLOOR_MB: '1' }, '/'));
    this.disk.freeAt = () => Promise.resolve(PLENTY);
    this.watch = new DiskWatch(new DiskWatchRepository(db), this.disk, transactions, events, log);
    this.store = new StoreRepository(db);
    this.look = new StoreLook(this.store, log);
    this.cycle = new Cycle(this.repository, this.pruning, this.store, this.look, this.watch, log);
    this.sync = new SettingsSync(
      new SettingsSyncRepository(),
      new Following(new FollowingRepository(db), fixture.a.reads, transactions, log),
    );
    const lifecycle = {} as Lifecycle;
    const { sync, cycles, repository, watch, store, look } = this;
    this.reconciler = new MaintenanceReconciler(sync, cycles, repository, watch, store, look, {} as DuePoller, lifecycle, log);
  }

  take(worker = 'worker', limit = 10, leaseMs = 3_600_000): Promise<CycleRow[]> {
    return this.#transactions.run((tx) => this.repository.claim(tx, worker, limit, leaseMs));
  }

  /** As who asks for a cycle does; undefined while another one is open. */
  async ask(streamId: number, settings = { intervalMs: 3_600_000, timeoutMs: 60_000 }): Promise<CycleRow | undefined> {
    return this.#transactions.run((tx) => this.repository.insert(tx, streamId, settings));
  }
}

/** A city whose files say how it is kept, and two workers. */
export class MaintenanceFixture {
  private constructor(
    readonly fixture: ConfigFixture,
    readonly a: MaintenanceProcess,
    readonly b: MaintenanceProcess,
  ) {}

  static async open(): Promise<MaintenanceFixture> {
    const fixture = await ConfigFixture.open();
    return new MaintenanceFixture(fixture, new MaintenanceProcess(fixture), new MaintenanceProcess(fixture));
  }

  get city(): ConfigFixture['city'] {
    return this.fixture.city;
  }

  /** Has the files say this beside the workspace, and has it followed. */
  async write(text: string): Promise<void> {
    await this.fixture.write(
      'city.toml',
      `[workspace]\nstart_command = "agent"\n[[agent]]\nname = "scout"\nprompt_template = "scout.md"\n${text}\n`,
    );
    const reloaded = await this.fixture.a.reloads.reload(this.city, 'files', 'test');
    if ('errors' in reloaded) throw new Error(reloaded.errors.map(describeIssue).join('; '));
    await this.a.sync.follow();
  }

  /** Takes the one cycle that waits and carries it out to its end. */
  async carryOut(): Promise<CycleRow> {
    const [cycle] = await this.a.take();
    const end = await this.a.cycle.carryOut(cycle!, 'worker', this.city, new AbortController().signal);
    if (!(await this.a.cycles.end(cycle!, 'worker', end!))) throw new Error('the cycle was not ended');
    return (await this.a.repository.find(cycle!.pk))!;
  }

  row(): Promise<{ next_at: Date | null; look_at: Date | null; disk: string }[]> {
    return this.fixture.sql('select next_at, look_at, disk from maintenance_cities');
  }

  told(): Promise<{ type: string; actor: string; subject: string; payload: Record<string, unknown> }[]> {
    return this.fixture.sql(`select type, actor, subject, payload from events where type like 'gc.%' order by seq`);
  }

  async close(): Promise<void> {
    await Promise.all([this.a.db.destroy(), this.b.db.destroy()]);
    await this.fixture.close();
  }
}
