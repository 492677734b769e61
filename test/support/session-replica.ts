import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ProblemError } from '../../src/contract/problems.js';
import { ANYBODY } from '../../src/contract/principal.js';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import type { ConfigReadsService } from '../../src/modules/configuration/config/config-reads.service.js';
import type { SessionResolver } from '../../src/modules/sessions/session-names/session-resolver.service.js';
import { AgentOutput } from '../../src/modules/sessions/transcripts/agent-output.service.js';
import { AgentStreams } from '../../src/modules/sessions/transcripts/agent-streams.service.js';
import { LiveReads } from '../../src/modules/sessions/transcripts/live-reads.repository.js';
import { SessionHub } from '../../src/modules/sessions/transcripts/session-hub.js';
import { SessionStreams } from '../../src/modules/sessions/transcripts/session-streams.service.js';
import { SessionStreamQuery, TranscriptQuery } from '../../src/modules/sessions/transcripts/transcripts.query.js';
import { TranscriptLogRepository } from '../../src/modules/sessions/transcripts/transcript-log.repository.js';
import { TranscriptLogService } from '../../src/modules/sessions/transcripts/transcript-log.service.js';
import { TranscriptsRepository } from '../../src/modules/sessions/transcripts/transcripts.repository.js';
import { TranscriptsService } from '../../src/modules/sessions/transcripts/transcripts.service.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { createDb, createPool, type Db, type PgPool } from '../../src/platform/database/database.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { Metrics } from '../../src/platform/health/metrics.js';
import { Readiness } from '../../src/platform/health/readiness.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { EventStreams } from '../../src/platform/streams/event-streams.js';
import { KeyValidity, KeyWatch } from '../../src/platform/streams/key-watch.js';
import { StreamHub } from '../../src/platform/streams/hub.js';
import { HintListener, ListenUrl } from '../../src/platform/streams/listener.js';
import { Notifier } from '../../src/platform/streams/notifier.js';
import { NO_ENDS } from './transcripts.js';
import { UnsentLimit } from '../../src/platform/streams/unsent-limit.js';
import { Signals } from '../../src/platform/streams/signals.js';
import { StreamLogRepository } from '../../src/platform/streams/stream-log.repository.js';

class Keys extends KeyValidity {
  readonly revoked = new Set<string>();
  stillValid(keyId: string): boolean {
    return !this.revoked.has(keyId);
  }
}

/** One replica's streams and transcripts of sessions over a bare HTTP server: `/s/<pk>`, `/t/<pk>` and `/a/<agent>`. */
export class SessionReplica {
  readonly pool: PgPool;
  readonly db: Db;
  readonly failpoints = new Failpoints();
  readonly keys = new Keys();
  readonly lifecycle: Lifecycle;
  readonly log: TranscriptLogService;
  readonly hub: SessionHub;
  readonly streams: EventStreams;
  readonly transcripts: TranscriptsService;
  readonly signals: Signals;
  readonly #server: Server;

  private constructor(url: string, city: CityScope, agents: readonly string[]) {
    const logger = new AppLogger(createLogger('silent'));
    const metrics = new Metrics();
    const moved = new MovedStreams();
    const config = loadConfig({ SVC_DATABASE_URL: url, SVC_HEARTBEAT_MS: '200' }, '/');
    this.pool = createPool(url);
    this.db = createDb(this.pool);
    this.lifecycle = new Lifecycle(logger);
    new Notifier(this.pool, moved, this.failpoints, this.lifecycle, logger, metrics).onModuleInit();
    const listener = new HintListener(new ListenUrl(url), this.pool, logger, this.lifecycle, new Readiness(logger), metrics);
    this.signals = new Signals(moved, listener, this.lifecycle);
    this.signals.onModuleInit();
    this.log = new TranscriptLogService(new TranscriptLogRepository(this.pool), this.signals, NO_ENDS);
    const events = new StreamHub(config, new StreamLogRepository(this.db, this.pool), moved, listener, logger, this.lifecycle, metrics);
    const streams = (this.streams = new EventStreams(
      events,
      config,
      this.failpoints,
      new KeyWatch(this.keys, this.signals, this.lifecycle),
      new UnsentLimit(logger, metrics, config),
    ));
    const reads = new LiveReads(this.db);
    this.hub = new SessionHub(config, reads, this.signals, listener, logger, this.lifecycle, metrics);
    this.hub.onModuleInit();
    const resolver = { resolve: (_city: CityScope, text: string) => Promise.resolve({ pk: Number(text), id: text }) };
    const repository = new TranscriptsRepository(this.db);
    this.transcripts = new TranscriptsService(repository, resolver as unknown as SessionResolver);
    const sessions = new SessionStreams(this.hub, streams, resolver as unknown as SessionResolver, this.transcripts, repository);
    const configured = agents.map((name) => ({ qualified_name: name, name, dir: '' }));
    const configs = { current: () => Promise.resolve({ config: { agents: configured } }) } as unknown as ConfigReadsService;
    const output = new AgentOutput(configs, reads, this.transcripts);
    const said = new AgentStreams(this.hub, reads, output, this.transcripts, streams, this.signals, logger, this.lifecycle);
    said.onModuleInit();
    this.#server = createServer((request, response) => {
      const target = new URL(request.url!, 'http://local');
      const [, kind, name] = target.pathname.split('/');
      const query = Object.fromEntries(target.searchParams);
      const lastEventId = request.headers['last-event-id'] as string | undefined;
      const keyId = request.headers['x-key'] as string | undefined;
      const caller = { ...ANYBODY, ...(keyId === undefined ? {} : { keyId }) };
      const answered =
        kind === 't'
          ? this.transcripts.get(city, name!, TranscriptQuery.parse(query)).then(({ value }) => void response.end(JSON.stringify(value)))
          : (kind === 's'
              ? sessions.open(city, name!, caller, SessionStreamQuery.parse(query), lastEventId)
              : said.open(city, '', name!, caller, lastEventId)
            ).then((stream) => {
              if (stream !== undefined) return stream.opening.begin(response, stream.headers);
              response.statusCode = 204;
              return void response.end();
            });
      answered.catch((error: unknown) => {
        response.statusCode = error instanceof ProblemError ? error.kind.status : 500;
        response.end(error instanceof Error ? (error.stack ?? error.message) : 'unknown');
      });
    });
  }

  static async start(url: string, city: CityScope, agents: readonly string[] = []): Promise<SessionReplica> {
    const replica = new SessionReplica(url, city, agents);
    await new Promise<void>((resolve) => replica.#server.listen(0, '127.0.0.1', resolve));
    return replica;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    await this.lifecycle.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.db.destroy();
  }
}
