import { ANYBODY } from '../../src/contract/principal.js';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import { CityComposer } from '../../src/modules/configuration/config/city-composer.js';
import { ConfigEditsRepository } from '../../src/modules/configuration/config/config-edits.repository.js';
import { ConfigEditsService, type EditAnswer, type EditRequest } from '../../src/modules/configuration/config/config-edits.service.js';
import { EditLimits, EditRecovery } from '../../src/modules/configuration/config/edit-recovery.js';
import { ConfigReadsService } from '../../src/modules/configuration/config/config-reads.service.js';
import { ConfigReloadsService } from '../../src/modules/configuration/config/config-reloads.service.js';
import { ConfigRevisionsService } from '../../src/modules/configuration/config/config-revisions.service.js';
import { ConfigRepository } from '../../src/modules/configuration/config/config.repository.js';
import type { Document } from '../../src/modules/configuration/config/documents.js';
import { DirectoriesRepository } from '../../src/modules/files/directories/directories.repository.js';
import { DirectoriesService } from '../../src/modules/files/directories/directories.service.js';
import { RosterRepository } from '../../src/modules/configuration/roster/roster.repository.js';
import { RosterService } from '../../src/modules/configuration/roster/roster.service.js';
import { AppConfig, loadConfig, type Config } from '../../src/platform/config/config.js';
import { createDb, createPool, type Db } from '../../src/platform/database/database.js';
import { Transactions } from '../../src/platform/database/transactions.js';
import { EventLog } from '../../src/platform/event-log/event-log.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { Idempotency } from '../../src/platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../src/platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { ThreadOptions, Threads } from '../../src/platform/threads/threads.js';

/** One process's worth of the configuration room, with a pool of its own. */
export class ConfigProcess {
  readonly db: Db;
  readonly transactions: Transactions;
  readonly directories: DirectoriesService;
  readonly edits: ConfigEditsService;
  readonly recovery: EditRecovery;
  readonly reads: ConfigReadsService;
  readonly reloads: ConfigReloadsService;
  readonly threads: Threads;
  readonly composer: CityComposer;

  constructor(
    databaseUrl: string,
    citiesRoot: string,
    readonly failpoints = new Failpoints(),
    options = new ThreadOptions(),
  ) {
    const threads = new Threads(options);
    const processId = `config-${Math.random().toString(36).slice(2)}`;
    const env = { SVC_DATABASE_URL: databaseUrl, SVC_CITIES_ROOT: citiesRoot };
    const config = new AppConfig({ ...(loadConfig(env, citiesRoot) as Config), processId });
    const pool = createPool(databaseUrl, { applicationName: processId });
    const db = createDb(pool);
    const transactions = new Transactions(db, failpoints);
    const eventLog = new EventLog(new MovedStreams());
    const directories = new DirectoriesService(config, new DirectoriesRepository(), db);
    const composer = new CityComposer(config, directories, threads);
    const repository = new ConfigRepository(db, pool);
    const revisions = new ConfigRevisionsService(repository, new RosterService(new RosterRepository(db)), directories, threads);
    const idempotency = new Idempotency(new IdempotencyRepository());
    const log = new AppLogger(createLogger(process.env.SVC_LOG_LEVEL ?? 'silent', { process: processId }));
    this.db = db;
    this.composer = composer;
    this.directories = directories;
    this.transactions = transactions;
    this.reads = new ConfigReadsService(config, repository, composer, threads);
    this.threads = threads;
    this.reloads = new ConfigReloadsService(composer, revisions, eventLog, transactions);
    const edits = new ConfigEditsRepository(db);
    const limits = new EditLimits();
    this.recovery = new EditRecovery(config, edits, composer, idempotency, transactions, db, log, limits);
    this.edits = new ConfigEditsService(
      config,
      edits,
      composer,
      revisions,
      this.reads,
      idempotency,
      eventLog,
      transactions,
      db,
      failpoints,
      log,
      threads,
      limits,
      this.recovery,
    );
  }

  /** Edits `city.toml` (or another file) and answers the body `{ done: file }`. */
  change(
    city: CityScope,
    change: (document: Document) => void,
    request: Partial<EditRequest> & { file?: string } = {},
  ): Promise<EditAnswer<{ done: string }>> {
    const { file = 'city.toml', ...rest } = request;
    return this.edits.run({ city, caller: ANYBODY, ...rest }, async (draft) => {
      await draft.edit(file, change);
      return { body: { done: file } };
    });
  }

  /** Sets one entry of the workspace's environment. */
  setVariable(city: CityScope, name: string, request: Partial<EditRequest> = {}): Promise<EditAnswer<{ done: string }>> {
    return this.change(city, setsVariable(name), request);
  }

  async close(): Promise<void> {
    await this.threads.stop();
    await this.db.destroy();
  }
}

export function setsVariable(name: string, value = 'set'): (document: Document) => void {
  return (document) => {
    const workspace = (document.workspace ??= {}) as { env?: Record<string, string> };
    workspace.env = { ...workspace.env, [name]: value };
  };
}
