import { createServer, type AddressInfo } from 'node:net';
import type { AppConfig } from '../../platform/config/config.js';
import { startEmbedded, type EmbeddedPostgres } from '../../platform/embedded/embedded-postgres.js';
import { removeServerFile } from '../../platform/embedded/server-file.js';
import { Metrics } from '../../platform/health/metrics.js';
import { AppLogger, createLogger } from '../../platform/logging/logger.js';
import { checkFolders } from '../folders.js';
import { announce, checkFiles, embeddedOptions, type Service, type Started, type StartOptions } from '../service.js';
import { buryProcesses, prepareDatabase } from '../schema.js';
import { assertLoaded } from '../unfinished-restore.js';
import { forkApi, forkWorker } from './fork.js';
import { Measures } from './measures.js';
import type { Settings } from './messages.js';
import { connectionsFor, partsOf, type Part } from './plan.js';
import { PartTimings, RunningPart } from './running-part.js';

/**
 * What `SVC_PROCESSES` starts: it has the database, the lock of the data directory, the port and the signals, and answers nothing itself.
 * Each process that it starts is a replica, or a worker, of a cluster on one machine.
 */
export class Primary implements Service {
  readonly logger: AppLogger;
  #embedded: EmbeddedPostgres | undefined;
  /** Of a start that waits. */
  readonly #interruption = new AbortController();
  #parts: readonly RunningPart[] = [];
  #starting: Promise<Started> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly answering: number,
    private readonly options: StartOptions = {},
  ) {
    this.logger = new AppLogger(createLogger(config.logLevel, { role: 'main', process: config.processId }));
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  start(): Promise<Started> {
    return (this.#starting ??= this.#start());
  }

  /** What works ends first, while what it runs can still call; then what answers, and the database server last. Also in the middle of a start. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  /** For the impatient: leaves the database server to its crash recovery. */
  abandon(): void {
    for (const part of this.#parts) part.kill();
    this.#embedded?.abandon();
  }

  async #start(): Promise<Started> {
    const { config } = this;
    await checkFiles(config);
    await checkFolders(config);
    // Before another database is made in the place of one that is moved aside.
    await assertLoaded(config.dataDir);
    const port = await freePort(config.host, config.port);
    const parts = partsOf(this.answering, config.role);
    const { databaseUrl, poolSize } = await this.#database(parts);
    // A stop waits for this start: what was begun now would have to end again.
    const { signal } = this.#interruption;
    signal.throwIfAborted();
    if (config.role === 'all') await prepareDatabase(config, databaseUrl, (line) => this.logger.warn({}, line));
    if (this.#embedded !== undefined) await buryProcesses(databaseUrl);
    signal.throwIfAborted();
    const apiUrl = config.apiUrl ?? config.urlOf(config.ownHost, port);
    const { databaseListenUrl, logLevel } = config;
    const settings = { port, databaseUrl, databaseListenUrl, ownDatabaseDir: this.#embedded?.directory, logLevel, poolSize };
    this.#parts = parts.map(({ name, role }) =>
      // Agents that a worker starts call those that answer; these say themselves where they are.
      this.#part({ ...settings, role, apiUrl: role === 'worker' ? apiUrl : config.apiUrl, processName: name }),
    );
    const metrics = new Metrics();
    metrics.collectProcess();
    new Measures(this.#parts, metrics).follow();
    const ready = await Promise.all(this.#parts.map((part) => part.start()));
    const url = config.urlOf(config.host, port);
    if (config.role === 'all') await announce(config, url, this.logger);
    return { url, walls: ready.at(-1)!.walls };
  }

  #part(settings: Settings): RunningPart {
    const { options, logger: log } = this;
    const name = settings.processName!;
    return new RunningPart({
      name,
      fork: () => (settings.role === 'worker' ? forkWorker(name) : forkApi(name)),
      begin: { kind: 'begin', settings },
      log,
      timings: options.timings ?? new PartTimings(),
    });
  }

  /** The embedded server's connections are shared among the processes; of another one each has as many as a replica has. */
  async #database(parts: readonly Part[]): Promise<{ databaseUrl: string; poolSize: number | undefined }> {
    const { databaseUrl, dataDir } = this.config;
    if (databaseUrl !== undefined) return { databaseUrl, poolSize: undefined };
    const { poolSize, connections } = connectionsFor(parts);
    const settings = { max_connections: String(connections) };
    this.#embedded = await startEmbedded(dataDir, { ...embeddedOptions(this.options), settings, signal: this.#interruption.signal });
    void this.#embedded.lost.then(() => this.options.onLost?.());
    return { databaseUrl: this.#embedded.url, poolSize };
  }

  async #stop(): Promise<void> {
    this.#interruption.abort();
    if (this.#parts.length === 0) await this.#starting?.catch(() => undefined);
    await removeServerFile(this.config.dataDir).catch(() => undefined);
    const [working, answering] = [this.#of(true), this.#of(false)];
    await Promise.all(working.map((part) => part.stop()));
    await Promise.all(answering.map((part) => part.stop()));
    await this.#embedded?.stop();
  }

  #of(works: boolean): RunningPart[] {
    return this.#parts.filter(({ name }) => (name === 'worker') === works);
  }
}

/** The port that is asked for, or one that is free: each process that is begun anew has to find it again. @throws when it is taken */
async function freePort(host: string, asked: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(asked, host, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
