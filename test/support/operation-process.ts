import { Test, type TestingModule } from '@nestjs/testing';
import type { Type } from '@nestjs/common';
import { AppConfig, loadConfig, type Config } from '../../src/platform/config/config.js';
import { ConfigModule } from '../../src/platform/config/config.module.js';
import { DatabaseModule } from '../../src/platform/database/database.module.js';
import { Db } from '../../src/platform/database/database.js';
import { Transactions } from '../../src/platform/database/transactions.js';
import { EventLogModule } from '../../src/platform/event-log/event-log.module.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { HealthModule } from '../../src/platform/health/health.module.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { IdempotencyModule } from '../../src/platform/idempotency/idempotency.module.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { LoggingModule } from '../../src/platform/logging/logging.module.js';
import type { OperationDefinition, OperationHandler } from '../../src/platform/operations/operation.js';
import { Operations } from '../../src/platform/operations/operations.js';
import { OperationsModule } from '../../src/platform/operations/operations.module.js';
import { OperationsWorkerModule } from '../../src/platform/operations/operations.worker.module.js';
import { DeclaredKinds } from '../../src/platform/operations/registry.js';
import { OperationTimings } from '../../src/platform/operations/timings.js';
import { QueueTimings } from '../../src/platform/queue/timings.js';

export interface OperationProcessOptions {
  readonly id: string;
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  /** The kinds that this process knows, in place of the product's. */
  readonly declared: readonly OperationDefinition[];
  /** Present in a worker process only. */
  readonly handlers?: readonly OperationHandler[];
  readonly timings?: Partial<OperationTimings>;
  readonly queueTimings?: Partial<QueueTimings>;
}

/** One process's worth of the operations room, without HTTP: an api when it has no handlers, else a worker. */
export class OperationProcess {
  private constructor(
    private readonly nest: TestingModule,
    readonly failpoints: Failpoints,
  ) {}

  static async start(options: OperationProcessOptions): Promise<OperationProcess> {
    const failpoints = new Failpoints();
    const logger = new AppLogger(createLogger(process.env.SVC_LOG_LEVEL ?? 'silent', { process: options.id }));
    const env = { SVC_DATABASE_URL: options.databaseUrl, SVC_REDIS_URL: options.redisUrl };
    const config = new AppConfig({ ...(loadConfig(env, '/tmp') as Config), processId: options.id });
    const building = Test.createTestingModule({
      imports: [
        ConfigModule.forRoot(config),
        LoggingModule.forRoot(logger),
        HealthModule,
        DatabaseModule.forRoot(options.databaseUrl, { failpoints, applicationName: options.id }),
        EventLogModule,
        IdempotencyModule,
        options.handlers === undefined ? OperationsModule : OperationsWorkerModule,
      ],
    })
      .setLogger(logger)
      .overrideProvider(DeclaredKinds)
      .useValue({ kinds: () => options.declared.map(({ kind }) => kind) })
      .overrideProvider(QueueTimings)
      .useValue(new QueueTimings(options.queueTimings));
    if (options.handlers !== undefined) building.overrideProvider(OperationTimings).useValue(new OperationTimings(options.timings));
    const nest = await building.compile();
    const started = new OperationProcess(nest, failpoints);
    try {
      for (const handler of options.handlers ?? []) started.operations.registerHandler(handler);
      await nest.init();
      return started;
    } catch (error) {
      await started.stop();
      throw error;
    }
  }

  get<T>(type: Type<T>): T {
    return this.nest.get(type, { strict: false });
  }
  get db(): Db {
    return this.get(Db);
  }
  get operations(): Operations {
    return this.get(Operations);
  }
  get transactions(): Transactions {
    return this.get(Transactions);
  }

  async stop(): Promise<void> {
    this.failpoints.disarm();
    await this.get(Lifecycle).stop();
    await this.nest.close();
  }
}
