import { Global, Module, type DynamicModule } from '@nestjs/common';
import { AppLogger } from './logger.js';

/** Hands the process's logger to every room. */
@Global()
@Module({})
export class LoggingModule {
  static forRoot(logger: AppLogger): DynamicModule {
    return { module: LoggingModule, providers: [{ provide: AppLogger, useValue: logger }], exports: [AppLogger] };
  }
}
