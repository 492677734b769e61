import { Global, Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ProcessRegistry } from './process-registry.js';
import { ProcessesRepository } from './processes.repository.js';

/** Imported once, by the root module, in every role. */
@Global()
@Module({ imports: [EventLogModule], providers: [ProcessRegistry, ProcessesRepository], exports: [ProcessRegistry] })
export class ProcessesModule {}
