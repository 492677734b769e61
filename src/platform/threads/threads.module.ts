import { Module } from '@nestjs/common';
import { AppLogger } from '../logging/logger.js';
import { Lifecycle } from '../health/lifecycle.js';
import { ThreadOptions, Threads } from './threads.js';

@Module({
  providers: [
    { provide: ThreadOptions, useFactory: () => new ThreadOptions() },
    {
      provide: Threads,
      inject: [ThreadOptions, AppLogger, Lifecycle],
      useFactory: (options: ThreadOptions, log: AppLogger, lifecycle: Lifecycle) => new Threads(options, log, lifecycle),
    },
  ],
  exports: [Threads],
})
export class ThreadsModule {}
