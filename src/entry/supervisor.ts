import type { AppConfig } from '../platform/config/config.js';
import { startEmbedded, type EmbeddedPostgres } from '../platform/embedded/embedded-postgres.js';
import { removeServerFile } from '../platform/embedded/server-file.js';
import { Isolation } from '../platform/isolation/isolation.js';
import { AppLogger, createLogger } from '../platform/logging/logger.js';
import { Metrics } from '../platform/health/metrics.js';
import { startTelemetry, tapOf, type Telemetry } from '../platform/telemetry/telemetry.js';
import { atMost } from '../platform/time/clock.js';
import { startApplication, type Application } from './application.js';
import type { Walls } from './processes/messages.js';
import { checkSchema, prepareDatabase } from './schema.js';
import { checkFolders } from './folders.js';
import { assertLoaded, assertNoneOwed } from './unfinished-restore.js';
import { announce, checkFiles, embeddedOptions, type Service, type Started, type StartOptions } from './service.js';

/**
 * Rooms end in phases with limits of their own; the whole has to be over before an orchestrator loses patience. A worker
 * lets turns of its sessions end first: about 25 s in all, for which the orchestrator has to leave time.
 */
const STOP_APPLICATION_MS = 4_000;

/** Set for one of several processes at one port. */
export interface Belonging {
  readonly name: string;
  /** The metrics of all these processes. */
  readonly gather: () => Promise<readonly string[]>;
}

/** One process of the product: in embedded mode with its database server, otherwise on the one it is given. */
export class Supervisor implements Service {
  readonly logger: AppLogger;
  #embedded: EmbeddedPostgres | undefined;
  /** Interrupts a start that waits. */
  readonly #interruption = new AbortController();
  #telemetry: Telemetry | undefined;
  #application: Application | undefined;
  #starting: Promise<Started> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly options: StartOptions = {},
  ) {
    this.logger = new AppLogger(createLogger(config.logLevel, { role: config.role, process: config.processId }, tapOf(config)));
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  start(belonging?: Belonging): Promise<Started> {
    return (this.#starting ??= this.#start(belonging));
  }

  /** How long an orderly stop may take. */
  get stopMs(): number {
    return STOP_APPLICATION_MS + (this.#application?.lifecycle.extraMs ?? 0);
  }

  /** The metrics of this process alone. */
  async measures(): Promise<string> {
    return (await this.#application?.app.get(Metrics).registry.metrics()) ?? '';
  }

  async walls(): Promise<Walls> {
    const { kind, why } = await this.#application!.app.get(Isolation, { strict: false }).found();
    return { kind, why };
  }

  /** Stops in order what was started, the database server last. Also in the middle of a start. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  /** For a second signal: leaves the database server to its crash recovery. */
  abandon(): void {
    this.#embedded?.abandon();
  }

  async #start(belonging: Belonging | undefined): Promise<Started> {
    this.#telemetry = await startTelemetry(this.config, this.logger);
    await checkFiles(this.config);
    await checkFolders(this.config);
    // Before the database is opened: a restore that has moved the database aside would otherwise get a new one made in its place.
    await assertLoaded(this.config.dataDir);
    const url = this.config.databaseUrl ?? (await this.#startEmbedded());
    // A stop waits for this start, and would have to end what begins now.
    const { signal } = this.#interruption;
    signal.throwIfAborted();
    // None of several api and worker processes may change the schema under the others: there the migrate step does.
    if (this.config.role === 'all') await prepareDatabase(this.config, url, (line) => this.logger.warn({}, line));
    else await assertNoneOwed(this.config.dataDir);
    const newer = await checkSchema(this.config, url);
    if (newer !== undefined) this.logger.warn({}, newer);
    signal.throwIfAborted();
    const { failpoints, listens } = this.options;
    const alone = this.config.databaseUrl === undefined;
    const ownDatabaseDir = this.#embedded?.directory ?? this.config.ownDatabaseDir;
    this.#application = await startApplication(this.config.with({ databaseUrl: url, alone, ownDatabaseDir }), {
      logger: this.logger,
      ...(failpoints === undefined ? {} : { failpoints }),
      ...(listens === undefined ? {} : { listens }),
    });
    const metrics = this.#application.app.get(Metrics);
    metrics.collectProcess();
    if (belonging !== undefined) metrics.belong(belonging.name, belonging.gather);
    this.#telemetry?.observe(metrics.registry);
    if (this.config.role === 'all') await announce(this.config, this.#application.url, this.logger);
    return { url: this.#application.url, walls: await this.walls() };
  }

  async #startEmbedded(): Promise<string> {
    this.#embedded = await startEmbedded(this.config.dataDir, {
      ...embeddedOptions(this.options),
      signal: this.#interruption.signal,
    });
    void this.#embedded.lost.then(() => this.options.onLost?.());
    return this.#embedded.url;
  }

  async #stop(): Promise<void> {
    this.#interruption.abort();
    await this.#starting?.catch(() => undefined);
    await removeServerFile(this.config.dataDir).catch(() => undefined);
    await atMost(this.stopMs, this.#application?.stop() ?? Promise.resolve());
    await this.#telemetry?.stop();
    await this.#embedded?.stop();
  }
}
