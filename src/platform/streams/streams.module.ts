import { Module, type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { EventLogModule } from '../event-log/event-log.module.js';
import { StreamLimits } from '../http/rate-limits.js';
import { EventStreams } from './event-streams.js';
import { HeadWaiter } from './head-waiter.js';
import { KeyWatch } from './key-watch.js';
import { MemoryOfStreams } from './memory-return.js';
import { StreamHub } from './hub.js';
import { Signals } from './signals.js';
import { HintListener, ListenUrl } from './listener.js';
import { Notifier } from './notifier.js';
import { StreamLogRepository } from './stream-log.repository.js';
import { UnsentLimit } from './unsent-limit.js';

/** What every process has: it tells the others what it changed, and hears what they changed. */
@Module({})
export class NotifierModule {
  static forRoot(listenUrl: string): DynamicModule {
    return {
      module: NotifierModule,
      global: true,
      imports: [EventLogModule],
      providers: [{ provide: ListenUrl, useValue: new ListenUrl(listenUrl) }, HintListener, Notifier, Signals],
      exports: [HintListener, Signals],
    };
  }
}

/**
 * Reading side of the event log. `imports` must provide `KeyValidity`. Needs `NotifierModule` beside it in the root.
 */
@Module({})
export class StreamsModule {
  static forRoot(imports: NonNullable<ModuleMetadata['imports']>): DynamicModule {
    return {
      module: StreamsModule,
      imports: [EventLogModule, ...imports],
      providers: [
        { provide: StreamLimits, inject: [AppConfig], useFactory: ({ streamLimits }: AppConfig) => new StreamLimits(streamLimits) },
        StreamLogRepository,
        StreamHub,
        EventStreams,
        HeadWaiter,
        KeyWatch,
        MemoryOfStreams,
        UnsentLimit,
      ],
      exports: [StreamHub, EventStreams, HeadWaiter, KeyWatch],
    };
  }
}
