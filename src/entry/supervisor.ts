import type { AppConfig } from '../platform/config/config.js';
import { startEmbedded, type EmbeddedPostgres } from '../platform/embedded/embedded-postgres.js';
import { removeServerFile, writeServerFile } from '../platform/embedded/server-file.js';
import type { Failpoints } from '../platform/failpoints/failpoints.js';
import { readPair, readText } from '../platform/http/tls/pair.js';
import { AppLogger, createLogger } from '../platform/logging/logger.js';
import { Metrics } from '../platform/health/metrics.js';
import { startTelemetry, tapOf, type Telemetry } from '../platform/telemetry/telemetry.js';
import { startApplication, type Application } from './application.js';
import { prepareDatabase } from './schema.js';

/**
 * Rooms end in phases with limits of their own; the whole has to be over before an orchestrator loses patience. A worker
 * lets turns of its sessions end first: about 25 s in all, for which the orchestrator has to leave time.
 */
const STOP_APPLICATION_MS = 4_000;

export interface SupervisorOptions {
  readonly sudoUid?: string | undefined;
  /** Armed by chaos runs only. */
  readonly failpoints?: Failpoints | undefined;
  /** Said before steps that take time. */
  readonly onStep?: (what: string) => void;
  readonly onElsewhere?: (what: string) => void;
  /** The embedded server has ended by itself; the supervisor cannot go on. */
  readonly onLost?: () => void;
}

/** One process of the product: in embedded mode with its database server, otherwise on the one it is given. */
export class Supervisor {
  readonly logger: AppLogger;
  #embedded: EmbeddedPostgres | undefined;
  #telemetry: Telemetry | undefined;
  #application: Application | undefined;
  #starting: Promise<Application> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly options: SupervisorOptions = {},
  ) {
    this.logger = new AppLogger(createLogger(config.logLevel, { role: config.role, process: config.processId }, tapOf(config)));
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  start(): Promise<Application> {
    return (this.#starting ??= this.#start());
  }

  /** Stops in order what was started, the database server last. Also in the middle of a start. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  /** For the impatient: leaves the database server to its crash recovery. */
  abandon(): void {
    this.#embedded?.abandon();
  }

  async #start(): Promise<Application> {
    this.#telemetry = await startTelemetry(this.config, this.logger);
    // Before a database is made: what is wrong with these files shall be seen at once.
    if (this.config.tls !== undefined) await readPair(this.config.tls);
    if (this.config.caCert !== undefined) await readText('SVC_CA_CERT', this.config.caCert);
    const url = this.config.databaseUrl ?? (await this.#startEmbedded());
    // Of several api and worker processes none may change the schema under the others: there a job migrates.
    if (this.config.role === 'all') await prepareDatabase(this.config, url);
    this.#application = await startApplication(this.config.with({ databaseUrl: url, alone: this.config.databaseUrl === undefined }), {
      logger: this.logger,
      ...(this.options.failpoints === undefined ? {} : { failpoints: this.options.failpoints }),
    });
    const metrics = this.#application.app.get(Metrics);
    metrics.collectProcess();
    this.#telemetry?.observe(metrics.registry);
    if (this.config.role === 'all') await this.#announce(this.#application.url);
    return this.#application;
  }

  /** A help for the client of this machine: the service goes on without it. */
  async #announce(url: string): Promise<void> {
    const reached = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
    await writeServerFile(this.config.dataDir, reached).catch((error: unknown) => {
      this.logger.warn({ err: error }, `clients do not find this server by themselves: ${this.config.dataDir} cannot be written`);
    });
  }

  async #startEmbedded(): Promise<string> {
    const { sudoUid, onStep, onElsewhere, onLost } = this.options;
    const told = { ...(onStep === undefined ? {} : { onStep }), ...(onElsewhere === undefined ? {} : { onElsewhere }) };
    this.#embedded = await startEmbedded(this.config.dataDir, { sudoUid, ...told });
    void this.#embedded.lost.then(() => onLost?.());
    return this.#embedded.url;
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    await removeServerFile(this.config.dataDir).catch(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    const limitMs = STOP_APPLICATION_MS + (this.#application?.lifecycle.extraMs ?? 0);
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)));
    await Promise.race([this.#application?.stop(), late]);
    clearTimeout(timer);
    await this.#telemetry?.stop();
    await this.#embedded?.stop();
  }
}
