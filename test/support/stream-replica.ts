import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppConfig, loadConfig } from '../../src/platform/config/config.js';
import { createDb, createPool, type Db, type PgPool } from '../../src/platform/database/database.js';
import { Transactions } from '../../src/platform/database/transactions.js';
import { EventLog } from '../../src/platform/event-log/event-log.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { Metrics } from '../../src/platform/health/metrics.js';
import { Readiness } from '../../src/platform/health/readiness.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { ProblemError } from '../../src/contract/problems.js';
import { EventStreams } from '../../src/platform/streams/event-streams.js';
import { KeyValidity, KeyWatch } from '../../src/platform/streams/key-watch.js';
import { StreamHub } from '../../src/platform/streams/hub.js';
import { HintListener, ListenUrl } from '../../src/platform/streams/listener.js';
import { Notifier } from '../../src/platform/streams/notifier.js';
import type { Signals } from '../../src/platform/streams/signals.js';
import { StreamLogRepository } from '../../src/platform/streams/stream-log.repository.js';
import { UnsentLimit } from '../../src/platform/streams/unsent-limit.js';

class AnyKey extends KeyValidity {
  stillValid(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

/** A log that is kept instead of written. */
class Told extends AppLogger {
  constructor(private readonly warned: string[]) {
    super(createLogger('silent'));
  }
  override child(): AppLogger {
    return this;
  }
  override warn(_fields: unknown, text: unknown): void {
    this.warned.push(String(text));
  }
}

/** The reading and writing side of one replica over a bare HTTP server: `/sup` and `/<city>` are streams. */
export class StreamReplica {
  /** What was warned of. */
  readonly warned: string[] = [];
  readonly pool: PgPool;
  readonly db: Db;
  readonly failpoints = new Failpoints();
  readonly moved = new MovedStreams();
  readonly transactions: Transactions;
  readonly log: EventLog;
  readonly hub: StreamHub;
  readonly unsent: UnsentLimit;
  streams!: EventStreams;
  readonly listener: HintListener;
  readonly lifecycle: Lifecycle;
  readonly config: AppConfig;
  #server!: Server;

  private constructor(url: string, env: Record<string, string>) {
    const logger = new Told(this.warned);
    const metrics = new Metrics();
    this.config = loadConfig({ SVC_DATABASE_URL: url, ...env }, '/');
    this.pool = createPool(url);
    this.db = createDb(this.pool);
    this.lifecycle = new Lifecycle(logger);
    this.transactions = new Transactions(this.db, this.failpoints);
    this.log = new EventLog(this.moved);
    new Notifier(this.pool, this.moved, this.failpoints, this.lifecycle, logger, metrics).onModuleInit();
    this.listener = new HintListener(new ListenUrl(url), this.pool, logger, this.lifecycle, new Readiness(logger), metrics);
    this.unsent = new UnsentLimit(logger, metrics, this.config);
    this.hub = new StreamHub(
      this.config,
      new StreamLogRepository(this.db, this.pool),
      this.moved,
      this.listener,
      logger,
      this.lifecycle,
      metrics,
    );
  }

  static async start(url: string, env: Record<string, string> = {}): Promise<StreamReplica> {
    const replica = new StreamReplica(url, env);
    replica.hub.onModuleInit();
    const keys = new KeyWatch(new AnyKey(), { onTopics: () => () => undefined } as unknown as Signals, replica.lifecycle);
    const streams = (replica.streams = new EventStreams(replica.hub, replica.config, replica.failpoints, keys, replica.unsent));
    replica.#server = createServer((request, response) => {
      const target = new URL(request.url!, 'http://local');
      const query = (name: string): string | undefined => target.searchParams.get(name) ?? undefined;
      const common = {
        lastEventId: request.headers['last-event-id'] as string | undefined,
        types: query('type')?.split(','),
        keyId: undefined,
        owner: 'nobody',
      };
      const opening =
        target.pathname === '/sup'
          ? streams.openSupervisor({ ...common, afterCursor: query('after'), cities: query('cities')?.split(',') })
          : streams.openCity({ ...common, stream: target.pathname.slice(1), afterSeq: query('after') });
      opening
        .then((o) => o.begin(response, {}))
        .catch((error: unknown) => {
          response.statusCode = error instanceof ProblemError ? error.kind.status : 500;
          response.end(error instanceof Error ? error.message : 'unknown');
        });
    });
    await new Promise<void>((resolve) => replica.#server.listen(0, '127.0.0.1', resolve));
    return replica;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async emit(stream: string, count = 1, type = 'test.happened'): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => ({ stream, type, version: 1, actor: 'test', payload: { n } }));
    await this.transactions.run((tx) => this.log.append(tx, events));
  }

  async join(name: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      await this.log.joinStream(tx, name);
      await this.log.append(tx, [
        { stream: name, type: 'city.created', version: 1, actor: 'api', subject: name, payload: { name, path: `/${name}` } },
      ]);
    });
  }

  async leave(name: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      await this.log.leaveStream(tx, name);
      await this.log.append(tx, [
        { stream: name, type: 'city.unregister_requested', version: 1, actor: 'api', subject: name, payload: { name, path: `/${name}` } },
      ]);
    });
  }

  async stop(): Promise<void> {
    await this.lifecycle.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.db.destroy();
  }
}
