import { Module, type DynamicModule } from '@nestjs/common';
import { ApiModule } from '../modules/api.module.js';
import { KeysModule } from '../modules/administration/keys/keys.module.js';
import { WorkerModule } from '../modules/worker.module.js';
import { ConfigModule } from '../platform/config/config.module.js';
import type { AppConfig } from '../platform/config/config.js';
import { pastPooler } from '../platform/config/database-address.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import type { Failpoints } from '../platform/failpoints/failpoints.js';
import { toProblem } from '../platform/database/pg-errors.js';
import { HealthModule } from '../platform/health/health.module.js';
import type { AppLogger } from '../platform/logging/logger.js';
import { ERROR_MAPPERS } from '../platform/http/problem.renderer.js';
import { LoggingModule } from '../platform/logging/logging.module.js';
import { ProcessesModule } from '../platform/processes/processes.module.js';
import { NotifierModule, StreamsModule } from '../platform/streams/streams.module.js';

/** The base every process has, and the roots of its role. `all` is both in one application. */
@Module({})
export class RootModule {
  static forRole(config: AppConfig, databaseUrl: string, logger: AppLogger, failpoints: Failpoints): DynamicModule {
    return {
      module: RootModule,
      imports: [
        ConfigModule.forRoot(config),
        LoggingModule.forRoot(logger),
        HealthModule,
        DatabaseModule.forRoot(databaseUrl, {
          applicationName: `svc-${config.role}`,
          max: config.poolSize,
          failpoints,
          beside: config.cityConnections,
          pooled: config.databaseListenUrl !== undefined,
        }),
        NotifierModule.forRoot(pastPooler(config, databaseUrl)),
        ProcessesModule,
        ...(config.role === 'worker' ? [] : [{ ...StreamsModule.forRoot([KeysModule]), global: true }, ApiModule]),
        ...(config.role === 'api' ? [] : [WorkerModule]),
      ],
      providers: [{ provide: ERROR_MAPPERS, useValue: [toProblem] }],
    };
  }
}
