import { Module, type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { EventStreams } from './event-streams.js';
import { HeadWaiter } from './head-waiter.js';
import { StreamHub } from './hub.js';
import { HintListener, ListenUrl } from './listener.js';
import { Notifier } from './notifier.js';
import { StreamLogRepository } from './stream-log.repository.js';

/** Only the notifier: for processes that write events and serve no streams. */
@Module({ imports: [EventLogModule], providers: [Notifier] })
export class NotifierModule {}

/**
 * Reading side of the event log. `imports` must provide `KeyValidity`. Needs `NotifierModule` beside it in the root.
 */
@Module({})
export class StreamsModule {
  static forRoot(listenUrl: string, imports: NonNullable<ModuleMetadata['imports']>): DynamicModule {
    return {
      module: StreamsModule,
      imports: [EventLogModule, ...imports],
      providers: [
        { provide: ListenUrl, useValue: new ListenUrl(listenUrl) },
        HintListener,
        StreamLogRepository,
        StreamHub,
        EventStreams,
        HeadWaiter,
      ],
      exports: [StreamHub, EventStreams, HeadWaiter],
    };
  }
}
